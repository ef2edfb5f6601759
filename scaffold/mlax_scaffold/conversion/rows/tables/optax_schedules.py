"""Schedules of optax as functions of the number of the step, which begins at zero."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.rows.rows import MisfitError, Row
from mlax_scaffold.conversion.source.trees import expression, replaced

_LINEAR = (
    "init_value + (end_value - init_value) * jnp.clip((count - transition_begin) "
    "/ transition_steps, 0.0, 1.0)"
)
_COSINE = (
    "init_value * ((1 - alpha) * (0.5 * (1 + jnp.cos(math.pi * jnp.minimum(count, decay_steps) "
    "/ decay_steps))) ** exponent + alpha)"
)
_DECAYED = (
    "((1 - end_value / peak_value) * (0.5 * (1 + jnp.cos(math.pi * jnp.clip((count - warmup_steps) "
    "/ (decay_steps - warmup_steps), 0.0, 1.0)))) ** exponent + end_value / peak_value)"
)
_ROWS = {
    "constant_schedule": ("(value)", "value"),
    "linear_schedule": (
        "(init_value, end_value, transition_steps, transition_begin=0)",
        _LINEAR,
    ),
    "polynomial_schedule": (
        "(init_value, end_value, power, transition_steps, transition_begin=0)",
        "(init_value - end_value) * (1 - jnp.clip((count - transition_begin) "
        "/ transition_steps, 0.0, 1.0)) ** power + end_value",
    ),
    "cosine_decay_schedule": (
        "(init_value, decay_steps, alpha=0.0, exponent=1.0)",
        _COSINE,
    ),
    "exponential_decay": (
        "(init_value, transition_steps, decay_rate)",
        "init_value * decay_rate ** (count / transition_steps)",
    ),
    "warmup_constant_schedule": (
        "(init_value, peak_value, warmup_steps)",
        "init_value + (peak_value - init_value) * jnp.minimum(count / warmup_steps, 1.0)",
    ),
    "warmup_cosine_decay_schedule": (
        "(init_value, peak_value, warmup_steps, decay_steps, end_value=0.0, exponent=1.0)",
        "jnp.where(count < warmup_steps, init_value + (peak_value - init_value) * "
        f"jnp.minimum(count / warmup_steps, 1.0), peak_value * {_DECAYED})",
    ),
}
_MODULES = {
    "jnp": ast.Name("@module:jnp", ast.Load()),
    "math": ast.Name("@module:math", ast.Load()),
}


def scheduled(title: str, call: ast.Call, count: ast.expr) -> ast.expr | None:
    """The value of a schedule at a step; None where optax has none of that name, or it says more.

    Args:
        title: the last part of the name.
        call: the call that makes the schedule.
        count: the number of the step.
    """
    if title not in _ROWS:
        return None
    signature, text = _ROWS[title]
    try:
        given = Row(signature, text).bind_all(call)
    except MisfitError:
        return None
    known = {k: v for k, v in given.items() if isinstance(v, ast.expr)}
    return replaced(expression(text), {**known, "count": count, **_MODULES})
