from typing import NamedTuple, Any, Optional
import jax
import jax.numpy as jnp
import optax
from optax import tree_utils as otu


class ScaleByLionState(NamedTuple):
    count: jnp.ndarray
    mu: optax.Updates


def scale_by_lion(
    b1: float = 0.9, b2: float = 0.99, mu_dtype: Optional[Any] = None
) -> optax.GradientTransformation:
    """Rescale updates according to the Lion algorithm."""

    def init_fn(params):
        mu = jax.tree_util.tree_map(lambda t: jnp.zeros_like(t, dtype=mu_dtype), params)
        return ScaleByLionState(count=jnp.zeros([], jnp.int32), mu=mu)

    def update_fn(updates, state, params=None):
        del params
        updates_new = jax.tree_util.tree_map(
            lambda g, m: jnp.sign((1.0 - b1) * g + b1 * m), updates, state.mu
        )
        mu = jax.tree_util.tree_map(
            lambda g, m: (1 - b2) * g + b2 * m, updates, state.mu
        )
        count_inc = optax.safe_int32_increment(state.count)
        return updates_new, ScaleByLionState(count=count_inc, mu=mu)

    return optax.GradientTransformation(init_fn, update_fn)


def lion(learning_rate, b1=0.9, b2=0.99, weight_decay=1e-3):
    return optax.chain(
        scale_by_lion(b1=b1, b2=b2),
        optax.add_decayed_weights(weight_decay),
        optax.scale_by_learning_rate(learning_rate),
    )


class FactoredState(NamedTuple):
    count: jnp.ndarray
    v_row: optax.Updates
    v_col: optax.Updates
    v: optax.Updates


def scale_by_factored(
    decay_rate: float = 0.8, eps: float = 1e-30, clipping_threshold: float = 1.0
):
    """Adafactor-like second moments: rows and columns of matrices, all elements of anything else."""

    def init_fn(params):
        def row(p):
            return jnp.zeros(p.shape[:-1]) if p.ndim == 2 else jnp.zeros((1,))

        def col(p):
            return (
                jnp.zeros((p.shape[0] * 0 + p.shape[-1],))
                if p.ndim == 2
                else jnp.zeros((1,))
            )

        def full(p):
            return jnp.zeros((1,)) if p.ndim == 2 else jnp.zeros_like(p)

        return FactoredState(
            count=jnp.zeros([], jnp.int32),
            v_row=jax.tree.map(row, params),
            v_col=jax.tree.map(col, params),
            v=jax.tree.map(full, params),
        )

    def update_fn(updates, state, params=None):
        step = state.count + 1
        beta = 1.0 - step.astype(jnp.float32) ** (-decay_rate)

        def one(g, v_row, v_col, v):
            g2 = jnp.square(g) + eps
            if g.ndim == 2:
                v_row = beta * v_row + (1 - beta) * jnp.mean(g2, axis=-1)
                v_col = beta * v_col + (1 - beta) * jnp.mean(g2, axis=0)
                r = jax.lax.rsqrt(v_row / jnp.mean(v_row))[:, None]
                c = jax.lax.rsqrt(v_col)[None, :]
                u = g * r * c
            else:
                v = beta * v + (1 - beta) * g2
                u = g * jax.lax.rsqrt(v)
            u = u / jnp.maximum(1.0, jnp.sqrt(jnp.mean(u**2)) / clipping_threshold)
            return u, v_row, v_col, v

        out = jax.tree.map(one, updates, state.v_row, state.v_col, state.v)
        new = [jax.tree.map(lambda _, o: o[i], updates, out) for i in range(4)]
        return new[0], FactoredState(step, new[1], new[2], new[3])

    return optax.GradientTransformation(init_fn, update_fn)
