from typing import NamedTuple, Optional

import chex
import jax
import jax.numpy as jnp
import optax


class ScaleByLambState(NamedTuple):
    count: chex.Array
    mu: optax.Updates
    nu: optax.Updates


def scale_by_lamb(
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-6,
    weight_decay: float = 0.01,
    clamp_value: Optional[float] = 10.0,
) -> optax.GradientTransformation:
    """LAMB, with the trust ratio clamped as in the pytorch implementation."""

    def init_fn(params):
        mu = jax.tree_util.tree_map(jnp.zeros_like, params)
        nu = jax.tree_util.tree_map(jnp.zeros_like, params)
        return ScaleByLambState(count=jnp.zeros([], jnp.int32), mu=mu, nu=nu)

    def update_fn(updates, state, params):
        mu = jax.tree_util.tree_map(
            lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu
        )
        nu = jax.tree_util.tree_map(
            lambda g, v: b2 * v + (1 - b2) * jnp.square(g), updates, state.nu
        )
        count = optax.safe_int32_increment(state.count)
        bc1 = 1 - b1**count
        bc2 = 1 - b2**count

        def lamb_update(m, v, p):
            u = (m / bc1) / (jnp.sqrt(v / bc2) + eps) + weight_decay * p
            w_norm = jnp.linalg.norm(p)
            if clamp_value is not None:
                w_norm = jnp.clip(w_norm, 0.0, clamp_value)
            u_norm = jnp.linalg.norm(u)
            trust = jnp.where(
                (w_norm > 0) & (u_norm > 0), w_norm / (u_norm + 1e-12), 1.0
            )
            return trust * u

        updates = jax.tree_util.tree_map(lamb_update, mu, nu, params)
        return updates, ScaleByLambState(count=count, mu=mu, nu=nu)

    return optax.GradientTransformation(init_fn, update_fn)


def lamb(learning_rate, b1=0.9, b2=0.999, eps=1e-6, weight_decay=0.01):
    return optax.chain(
        scale_by_lamb(b1=b1, b2=b2, eps=eps, weight_decay=weight_decay),
        optax.scale(-learning_rate),
    )
