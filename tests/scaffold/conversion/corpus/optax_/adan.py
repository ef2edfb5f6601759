from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax


class AdanState(NamedTuple):
    m: optax.Updates
    v: optax.Updates
    n: optax.Updates
    prev: optax.Updates
    count: jax.Array


def scale_by_adan(b1=0.98, b2=0.92, b3=0.99, eps=1e-8):
    def init_fn(params):
        z = lambda: jax.tree.map(jnp.zeros_like, params)
        return AdanState(z(), z(), z(), z(), jnp.zeros([], jnp.int32))

    def update_fn(updates, state, params=None):
        del params
        count = state.count + 1
        diff = jax.tree.map(
            lambda g, p: jnp.where(count == 1, jnp.zeros_like(g), g - p),
            updates,
            state.prev,
        )
        m = jax.tree.map(lambda g, t: b1 * t + (1 - b1) * g, updates, state.m)
        v = jax.tree.map(lambda d, t: b2 * t + (1 - b2) * d, diff, state.v)
        n = jax.tree.map(
            lambda g, d, t: b3 * t + (1 - b3) * (g + b2 * d) ** 2,
            updates,
            diff,
            state.n,
        )
        new = jax.tree.map(lambda a, b, c: (a + b2 * b) / (jnp.sqrt(c) + eps), m, v, n)
        return new, AdanState(m, v, n, updates, count)

    return optax.GradientTransformation(init_fn, update_fn)
