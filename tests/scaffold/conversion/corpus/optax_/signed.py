from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax


class SignedState(NamedTuple):
    count: jax.Array
    trace: optax.Updates
    square: optax.Updates


def signed_rms(learning_rate, decay=0.9, square_decay=0.99, eps=1e-8):
    """The sign of a moving mean, scaled by the root of the mean square."""

    def init_fn(params):
        return SignedState(
            count=jnp.zeros([], jnp.int32),
            trace=jax.tree.map(jnp.zeros_like, params),
            square=jax.tree.map(jnp.zeros_like, params),
        )

    def update_fn(updates, state, params=None):
        del params
        count = optax.safe_increment(state.count)
        trace = jax.tree.map(
            lambda t, g: decay * t + (1 - decay) * g, state.trace, updates
        )
        square = jax.tree.map(
            lambda s, g: square_decay * s + (1 - square_decay) * g * g,
            state.square,
            updates,
        )
        correction = 1 - square_decay**count
        new = jax.tree.map(
            lambda t, s: -learning_rate * jnp.sign(t) * jnp.sqrt(s / correction + eps),
            trace,
            square,
        )
        return new, SignedState(count, trace, square)

    return optax.GradientTransformation(init_fn, update_fn)
