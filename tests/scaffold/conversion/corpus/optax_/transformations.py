from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax


class ScaleByAdamState(NamedTuple):
    count: jax.Array
    mu: optax.Updates
    nu: optax.Updates


def scale_by_adam(
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8
) -> optax.GradientTransformation:
    """Adam's rescaling."""

    def init_fn(params):
        mu = jax.tree.map(jnp.zeros_like, params)
        nu = jax.tree.map(jnp.zeros_like, params)
        return ScaleByAdamState(count=jnp.zeros([], jnp.int32), mu=mu, nu=nu)

    def update_fn(updates, state, params=None):
        del params
        mu = jax.tree.map(lambda g, m: b1 * m + (1 - b1) * g, updates, state.mu)
        nu = jax.tree.map(lambda g, v: b2 * v + (1 - b2) * g**2, updates, state.nu)
        count = optax.safe_int32_increment(state.count)
        bc1 = 1 - b1**count
        bc2 = 1 - b2**count
        updates = jax.tree.map(
            lambda m, v: (m / bc1) / (jnp.sqrt(v / bc2) + eps), mu, nu
        )
        return updates, ScaleByAdamState(count=count, mu=mu, nu=nu)

    return optax.GradientTransformation(init_fn, update_fn)


def my_adamw(learning_rate, b1=0.9, weight_decay=1e-4):
    """AdamW."""
    return optax.chain(
        optax.clip_by_global_norm(1.0),
        scale_by_adam(b1=b1),
        optax.add_decayed_weights(weight_decay),
        optax.scale_by_learning_rate(learning_rate),
    )


def sgd_momentum(learning_rate: float, momentum: float = 0.9, nesterov: bool = False):
    def init(params):
        return jax.tree_util.tree_map(jnp.zeros_like, params)

    def update(grads, velocity, params=None):
        velocity = jax.tree_util.tree_map(
            lambda v, g: momentum * v + g, velocity, grads
        )
        if_n = jax.tree_util.tree_map(
            lambda v, g: momentum * v + g if nesterov else v, velocity, grads
        )
        return jax.tree_util.tree_map(lambda u: -learning_rate * u, if_n), velocity

    return optax.GradientTransformation(init, update)


def centralize() -> optax.GradientTransformation:
    def init_fn(params):
        return optax.EmptyState()

    def update_fn(updates, state, params=None):
        def center(g):
            if g.ndim > 1:
                return g - jnp.mean(g, axis=tuple(range(1, g.ndim)), keepdims=True)
            return g

        return jax.tree.map(center, updates), state

    return optax.GradientTransformation(init_fn, update_fn)


class LionState(NamedTuple):
    """The state of Lion."""

    count: jax.Array
    mu: optax.Updates


def scale_by_lion(b1: float = 0.9, b2: float = 0.99, mu_dtype=None):
    """Rescales updates by the sign of a mean of them."""

    def init_fn(params):
        mu = optax.tree_utils.tree_zeros_like(params, dtype=mu_dtype)
        return LionState(count=jnp.zeros([], jnp.int32), mu=mu)

    def update_fn(updates, state, params=None):
        del params
        updates_new = jax.tree.map(
            lambda g, m: jnp.sign((1.0 - b1) * g + b1 * m), updates, state.mu
        )
        mu_new = optax.tree_utils.tree_update_moment(updates, state.mu, b2, 1)
        count_inc = optax.safe_increment(state.count)
        return updates_new, LionState(count=count_inc, mu=mu_new)

    return optax.GradientTransformation(init_fn, update_fn)


def clip(max_delta: float) -> optax.GradientTransformation:
    """Clips updates element-wise."""

    def update_fn(updates, state, params=None):
        del params
        return jax.tree.map(
            lambda g: jnp.clip(g, -max_delta, max_delta), updates
        ), state

    def init_fn(params):
        del params
        return optax.EmptyState()

    return optax.GradientTransformation(init_fn, update_fn)


def clip_by_global_norm(max_norm: float) -> optax.GradientTransformation:
    """Clips updates by their global norm."""

    def init_fn(params):
        return optax.EmptyState()

    def update_fn(updates, state, params=None):
        g_norm = optax.global_norm(updates)
        scale = jnp.minimum(1.0, max_norm / (g_norm + 1e-6))
        updates = jax.tree.map(lambda t: t * scale, updates)
        return updates, state

    return optax.GradientTransformation(init_fn, update_fn)


class RssState(NamedTuple):
    """Sums of squares."""

    sum_of_squares: optax.Updates


def adagrad(
    learning_rate: float, initial_accumulator_value: float = 0.1, eps: float = 1e-7
):
    """Steps that are divided by the root of the sum of squares."""

    def init_fn(params):
        return RssState(
            sum_of_squares=jax.tree.map(
                lambda t: jnp.full_like(t, initial_accumulator_value), params
            )
        )

    def update_fn(updates, state, params=None):
        del params
        sos = jax.tree.map(
            lambda g, t: jnp.square(g) + t, updates, state.sum_of_squares
        )
        inv_sqrt_g_square = jax.tree.map(
            lambda t: jnp.where(t > 0, jax.lax.rsqrt(t + eps), 0.0), sos
        )
        updates = jax.tree.map(
            lambda scale, g: -learning_rate * scale * g, inv_sqrt_g_square, updates
        )
        return updates, RssState(sum_of_squares=sos)

    return optax.GradientTransformation(init_fn, update_fn)


def rmsprop(
    learning_rate: float, decay: float = 0.9, eps: float = 1e-8, momentum: float = 0.0
):
    """RMSProp, with momentum."""
    return optax.chain(
        optax.scale_by_rms(decay=decay, eps=eps),
        optax.trace(decay=momentum),
        optax.scale(-learning_rate),
    )
