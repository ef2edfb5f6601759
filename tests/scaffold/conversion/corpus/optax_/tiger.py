from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax


class ScaleByTigerState(NamedTuple):
    mu: optax.Updates


def scale_by_tiger(beta=0.965):
    """Tiger: sign of a moving average."""

    def init_fn(params):
        return ScaleByTigerState(mu=jax.tree_util.tree_map(jnp.zeros_like, params))

    def update_fn(updates, state, params=None):
        del params
        mu = jax.tree_util.tree_map(
            lambda m, g: beta * m + (1 - beta) * g, state.mu, updates
        )
        updates = jax.tree_util.tree_map(jnp.sign, mu)
        return updates, ScaleByTigerState(mu=mu)

    return optax.GradientTransformation(init_fn, update_fn)


def tiger(learning_rate=1e-3, beta=0.965, weight_decay=0.01):
    return optax.chain(
        scale_by_tiger(beta),
        optax.add_decayed_weights(weight_decay),
        optax.scale(-learning_rate),
    )
