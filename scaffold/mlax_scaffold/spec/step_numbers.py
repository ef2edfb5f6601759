"""The number of steps that an eager optimizer has taken, and the noise that follows from it."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def incremented(step: jax.Array) -> jax.Array:
    """The next number of steps, without wrapping around."""
    return jnp.minimum(step, jnp.iinfo(step.dtype).max - 1) + 1


def dither(step: jax.Array) -> jax.Array:
    """Multiples of the golden ratio, without their integers, in fixed point."""
    spread = step.astype(jnp.uint32) * jnp.uint32(2654435769)
    fraction = (spread >> 8).astype(jnp.float32) * jnp.float32(2.0**-24)
    return fraction.astype(jnp.result_type(float))
