"""Loops over a leading axis: as a Python loop, and compiled once. Both give the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from .._core import loops
from .._core.loops import Step


def static_scan(
    step: Step, init: Any, xs: Any, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """A scan as a Python loop: every step is traced, and can be looked into.

    The gradient of what `step` closes over is added up from step to step, as in any loop
    of Python, with a rounding each; `dynamic_scan` rounds it once.

    Args:
        step: `carry, y = step(carry, x)`.
        init: the carry before the first step.
        xs: arrays with a step for each index of their first axes.
        length: the number of steps, which xs may decide.
        reverse: whether it runs from the last index to the first.

    Returns:
        `(carry, ys)`: the last carry, and the y of each step, stacked.

    Raises:
        ValueError: where the lengths of xs differ, or are not `length`.
        TypeError: where the carry changes its structure, a shape or a dtype.
    """
    lengths = {jnp.shape(leaf)[0] for leaf in jax.tree.leaves(xs)}
    if length is not None:
        lengths.add(length)
    if len(lengths) != 1:
        raise ValueError(
            f"static_scan: xs must have one length, got {sorted(lengths) or 'none'}"
        )
    [steps] = lengths
    if steps == 0:
        # Nothing to stack: the other loop knows the shapes.
        return dynamic_scan(step, init, xs, length, reverse)
    indices = list(reversed(range(steps)) if reverse else range(steps))
    slices = [jax.tree.map(lambda leaf: leaf[i], xs) for i in indices]  # noqa: B023
    carry, ys = in_turn(step, init, slices)
    ordered = ys[::-1] if reverse else ys
    return carry, jax.tree.map(lambda *leaves: jnp.stack(leaves), *ordered)


def in_turn(step: Step, init: Any, slices: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The last carry, and the y of each step, of steps one after another."""
    carry, ys = jax.tree.map(jnp.asarray, init), []
    for number, x in enumerate(slices):
        after, y = step(carry, x)
        if number == 0 and _is_weaker(carry, after):
            # As in the compiled loop: a number of Python takes the dtype of the carry.
            carry = jax.tree.map(
                lambda c, a: jnp.asarray(c, _facts(a)[0]), carry, after
            )
            after, y = step(carry, x)
        _check_carry(carry, after)
        carry = after
        ys.append(y)
    return carry, ys


def _is_weaker(carry: Any, after: Any) -> bool:
    """Whether a leaf of a carry is a number of Python that becomes an array."""
    if jax.tree.structure(carry) != jax.tree.structure(after):
        return False
    pairs = zip(*map(jax.tree.leaves, (carry, after)), strict=True)
    return any(
        getattr(c, "weak_type", False) and c.dtype != _facts(a)[0] for c, a in pairs
    )


def _facts(value: Any) -> tuple[Any, tuple[int, ...]]:
    """Dtype and shape of an array, a key, or a number."""
    dtype = value.dtype if hasattr(value, "dtype") else jnp.result_type(value)
    return dtype, jnp.shape(value)


def _check_carry(carry: Any, after: Any) -> None:
    """Refuse a carry whose structure, shapes or dtypes change, as `jax.lax.scan` does."""
    before, now = jax.tree.structure(carry), jax.tree.structure(after)
    if before != now:
        raise TypeError(
            f"static_scan: the carry must keep its structure {before}, got {now}"
        )
    rows = zip(
        jax.tree_util.tree_leaves_with_path(carry), jax.tree.leaves(after), strict=True
    )
    for (path, leaf), other in rows:
        expected, given = _facts(leaf), _facts(other)
        if expected != given:
            place = jax.tree_util.keystr(path)
            raise TypeError(
                f"static_scan: the carry{place} must stay {expected[0]}{list(expected[1])}, "
                f"got {given[0]}{list(given[1])}; cast it in the step"
            )


def dynamic_scan(
    step: Step, init: Any, xs: Any, length: int | None = None, reverse: bool = False
) -> tuple[Any, Any]:
    """A scan as a compiled loop, `jax.lax.scan`: the step is traced once.

    In 16 bits the gradient of what `step` closes over is computed for all steps at once,
    and rounded once.
    """
    return loops.scan(step, init, xs, length=length, reverse=reverse)
