"""Transformations of optax that chains are made of: what each computes."""

from __future__ import annotations

import ast
from functools import cache

from mlax_scaffold.conversion.rows.rows import Row
from mlax_scaffold.conversion.rows.tables.optax_aliases import ALIASES

_TEXT = """
def identity():
    def init(params):
        return None
    def update(updates, state, params=None):
        return updates, state
    return GradientTransformation(init, update)

def scale(step_size):
    def init(params):
        return None
    def update(updates, state, params=None):
        return tree_map(lambda g: step_size * g, updates), state
    return GradientTransformation(init, update)

def scale_by_learning_rate(learning_rate):
    def init(params):
        return None
    def update(updates, state, params=None):
        return tree_map(lambda g: -learning_rate * g, updates), state
    return GradientTransformation(init, update)

def scale_by_schedule(step_size_fn):
    def init(params):
        return None
    def update(updates, state, params=None):
        return tree_map(lambda g: step_size_fn * g, updates), state
    return GradientTransformation(init, update)

def add_decayed_weights(weight_decay=0.0, mask=True):
    def init(params):
        return None
    def update(updates, state, params):
        step = tree_map(lambda g, p: g + weight_decay * p if mask else g, updates, params)
        return step, state
    return GradientTransformation(init, update)

def clip(max_delta):
    def init(params):
        return None
    def update(updates, state, params=None):
        return tree_map(lambda g: jnp.clip(g, -max_delta, max_delta), updates), state
    return GradientTransformation(init, update)

def clip_by_global_norm(max_norm):
    def init(params):
        return None
    def update(updates, state, params=None):
        factor = jnp.minimum(1.0, max_norm / jnp.maximum(global_norm(updates), 1e-16))
        return tree_map(lambda g: factor * g, updates), state
    return GradientTransformation(init, update)

def trace(decay, nesterov=False, accumulator_dtype=None):
    def init(params):
        return TraceState(trace=tree_map(jnp.zeros_like, params))
    def update(updates, state, params=None):
        trace = tree_map(lambda g, t: g + decay * t, updates, state.trace)
        step = tree_map(lambda g, t: g + decay * t if nesterov else t, updates, trace)
        return step, TraceState(trace=trace)
    return GradientTransformation(init, update)

def ema(decay, debias=True, accumulator_dtype=None):
    def init(params):
        return EmaState(ema=tree_map(jnp.zeros_like, params), count=jnp.zeros([], jnp.int32))
    def update(updates, state, params=None):
        ema = tree_map(lambda g, m: decay * m + (1 - decay) * g, updates, state.ema)
        count = state.count + 1
        unbias = 1 - decay**count if debias else 1.0
        return tree_map(lambda m: m / unbias, ema), EmaState(ema=ema, count=count)
    return GradientTransformation(init, update)

def scale_by_adam(b1=0.9, b2=0.999, eps=1e-8, eps_root=0.0, mu_dtype=None, *, nesterov=False):
    def init(params):
        return AdamState(
            mu=tree_map(jnp.zeros_like, params),
            nu=tree_map(jnp.zeros_like, params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        mu = tree_map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = tree_map(lambda g, v: b2 * v + (1 - b2) * g * g, updates, state.nu)
        count = state.count + 1
        unbias_mu = 1 - b1**count
        unbias_nu = 1 - b2**count
        unbias_next = 1 - b1 ** (count + 1)
        mean = tree_map(
            lambda g, m: b1 * m / unbias_next + (1 - b1) * g / unbias_mu
            if nesterov else m / unbias_mu,
            updates, mu,
        )
        step = tree_map(
            lambda m, v: m / (jnp.sqrt(v / unbias_nu + eps_root) + eps), mean, nu
        )
        return step, AdamState(mu=mu, nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_rms(decay=0.9, eps=1e-8, initial_scale=0.0):
    def init(params):
        return RmsState(nu=tree_map(lambda p: jnp.full_like(p, initial_scale), params))
    def update(updates, state, params=None):
        nu = tree_map(lambda g, v: decay * v + (1 - decay) * g * g, updates, state.nu)
        return tree_map(lambda g, v: g * lax.rsqrt(v + eps), updates, nu), RmsState(nu=nu)
    return GradientTransformation(init, update)

def scale_by_rss(initial_accumulator_value=0.1, eps=1e-7):
    def init(params):
        total = tree_map(lambda p: jnp.full_like(p, initial_accumulator_value), params)
        return RssState(total=total)
    def update(updates, state, params=None):
        total = tree_map(lambda g, t: g * g + t, updates, state.total)
        step = tree_map(
            lambda g, t: jnp.where(t > 0, lax.rsqrt(t + eps), 0.0) * g, updates, total
        )
        return step, RssState(total=total)
    return GradientTransformation(init, update)

def scale_by_belief(b1=0.9, b2=0.999, eps=1e-16, eps_root=1e-16):
    def init(params):
        return BeliefState(
            mu=tree_map(jnp.zeros_like, params),
            nu=tree_map(jnp.zeros_like, params),
            count=jnp.zeros([], jnp.int32),
        )
    def update(updates, state, params=None):
        mu = tree_map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = tree_map(
            lambda g, m, v: b2 * v + (1 - b2) * (g - m) ** 2 + eps_root, updates, mu, state.nu
        )
        count = state.count + 1
        unbias_mu = 1 - b1**count
        unbias_nu = 1 - b2**count
        step = tree_map(
            lambda m, v: (m / unbias_mu) / (jnp.sqrt(v / unbias_nu) + eps), mu, nu
        )
        return step, BeliefState(mu=mu, nu=nu, count=count)
    return GradientTransformation(init, update)

def scale_by_trust_ratio(trust_coefficient=1.0, eps=0.0):
    def init(params):
        return None
    def update(updates, state, params):
        def scaled(g, p):
            weight = jnp.linalg.norm(p)
            length = jnp.linalg.norm(g)
            ratio = trust_coefficient * weight / (length + eps)
            none = (weight == 0.0) | (length == 0.0)
            return g * jnp.where(none, 1.0, ratio)
        return tree_map(scaled, updates, params), state
    return GradientTransformation(init, update)

def centralize():
    def init(params):
        return None
    def update(updates, state, params=None):
        def centered(g):
            if g.ndim > 1:
                return g - jnp.mean(g, axis=tuple(range(1, g.ndim)), keepdims=True)
            return g
        return tree_map(centered, updates), state
    return GradientTransformation(init, update)

def clip_by_block_rms(threshold):
    def init(params):
        return None
    def update(updates, state, params=None):
        def clipped(g):
            return g / jnp.maximum(1.0, jnp.sqrt(jnp.mean(g * g)) / threshold)
        return tree_map(clipped, updates), state
    return GradientTransformation(init, update)

def scale_by_lion(b1=0.9, b2=0.99, mu_dtype=None):
    def init(params):
        return LionState(mu=tree_map(jnp.zeros_like, params))
    def update(updates, state, params=None):
        step = tree_map(lambda g, m: jnp.sign((1 - b1) * g + b1 * m), updates, state.mu)
        mu = tree_map(lambda g, m: (1 - b2) * g + b2 * m, updates, state.mu)
        return step, LionState(mu=mu)
    return GradientTransformation(init, update)

def scale_by_sign():
    def init(params):
        return None
    def update(updates, state, params=None):
        return tree_map(jnp.sign, updates), state
    return GradientTransformation(init, update)
"""


@cache
def transformations() -> dict[str, ast.FunctionDef]:
    """The transformations by name."""
    found = {}
    for node in ast.parse(_TEXT + ALIASES).body:
        assert isinstance(node, ast.FunctionDef)
        # They stand in no file of the person's, and have no comments there.
        for part in ast.walk(node):
            if hasattr(part, "lineno"):
                part.lineno = part.end_lineno = 0  # type: ignore[attr-defined]
        found[node.name] = node
    return found


TREE_MAPS = frozenset(
    (
        *(
            "jax.tree.map",
            "jax.tree_map",
            "jax.tree_util.tree_map",
            "jax.tree_multimap",
        ),
        *("optax.tree_utils.tree_map", "optax.tree.map", "chex.tree_map"),
    )
)
INCREMENTS = frozenset(
    (
        *("optax.safe_int32_increment", "optax.safe_increment"),
        *("optax.numerics.safe_int32_increment", "optax.numerics.safe_increment"),
    )
)
ZEROS = frozenset(
    (
        *(
            "optax.tree_utils.tree_zeros_like",
            "optax.tree.zeros_like",
            "optax.tree_zeros_like",
        ),
        *("jax.numpy.zeros_like",),
    )
)
NORMS = frozenset(
    (
        *("optax.global_norm", "optax.tree_utils.tree_l2_norm", "optax.tree.norm"),
        *("optax.tree_utils.tree_norm",),
    )
)
_LEAVES = {
    "update_moment": Row(
        "(updates, moments, decay, order)",
        "(1 - decay) * updates**order + decay * moments",
    ),
    "update_moment_per_elem_norm": Row(
        "(updates, moments, decay, order)",
        "(1 - decay) * updates**order + decay * moments",
    ),
    "update_infinity_moment": Row(
        "(updates, moments, decay, eps)",
        "jnp.maximum(jnp.abs(updates) + eps, decay * moments)",
    ),
    "bias_correction": Row("(moment, decay, count)", "moment / (1 - decay**count)"),
    "scalar_mul": Row("(scalar, tree)", "scalar * tree"),
    "scale": Row("(scalar, tree)", "scalar * tree"),
    "add": Row("(a, b)", "a + b"),
    "sub": Row("(a, b)", "a - b"),
    "mul": Row("(a, b)", "a * b"),
    "div": Row("(a, b)", "a / b"),
    "where": Row("(condition, a, b)", "jnp.where(condition, a, b)"),
    "clip": Row("(tree, min_value, max_value)", "jnp.clip(tree, min_value, max_value)"),
    "zeros_like": Row("(tree)", "jnp.zeros_like(tree)"),
    "ones_like": Row("(tree)", "jnp.ones_like(tree)"),
    "add_scalar_mul": Row("(a, scalar, b)", "a + scalar * b"),
    "add_scale": Row("(a, scalar, b)", "a + scalar * b"),
    "cast": Row("(tree, dtype)", "tree"),
    "cast_like": Row("(tree, other)", "tree"),
}


def of_leaf(full: str) -> Row | None:
    """What a function of optax over trees, `optax.tree_utils.tree_add`, computes per leaf."""
    module, _, last = full.rpartition(".")
    known = module.partition(".")[0] == "optax"
    return _LEAVES.get(last.removeprefix("tree_")) if known else None
