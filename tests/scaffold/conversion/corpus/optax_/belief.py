from typing import Any, NamedTuple, Optional

import jax
import jax.numpy as jnp
import optax


class AdaBeliefState(NamedTuple):
    step: jax.Array
    mu: optax.Updates
    nu: optax.Updates
    nu_max: optax.Updates


def scale_by_amsbelief(
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-16,
    eps_root: float = 1e-16,
    clip_ratio: Optional[float] = 1.0,
) -> optax.GradientTransformation:
    """AdaBelief (Zhuang et al., 2020) with the maximum of AMSGrad and updates clipped by their RMS."""

    def init_fn(params):
        mu = jax.tree.map(jnp.zeros_like, params)
        nu = jax.tree.map(jnp.zeros_like, params)
        nu_max = jax.tree.map(jnp.zeros_like, params)
        return AdaBeliefState(
            step=jnp.zeros([], jnp.int32), mu=mu, nu=nu, nu_max=nu_max
        )

    def update_fn(updates, state, params=None):
        del params
        step = optax.safe_increment(state.step)

        def ema(decay, order):
            def one(g, m):
                return decay * m + (1 - decay) * (g**order)

            return one

        mu = jax.tree.map(ema(b1, 1), updates, state.mu)
        errors = jax.tree.map(lambda g, m: g - m, updates, mu)
        nu = jax.tree.map(
            lambda e, v: b2 * v + (1 - b2) * e**2 + eps_root, errors, state.nu
        )
        nu_max = jax.tree.map(jnp.maximum, state.nu_max, nu)
        c1 = 1 - b1**step
        c2 = 1 - b2**step

        def precondition(m, v):
            def clipped(u):
                rms = jnp.sqrt(jnp.mean(jnp.square(u)))
                return u / jnp.maximum(1.0, rms / clip_ratio)

            u = (m / c1) / (jnp.sqrt(v / c2) + eps)
            return clipped(u) if clip_ratio is not None else u

        new_updates = jax.tree.map(precondition, mu, nu_max)
        return new_updates, AdaBeliefState(step, mu, nu, nu_max)

    return optax.GradientTransformation(init_fn, update_fn)
