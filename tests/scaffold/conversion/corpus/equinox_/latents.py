"""Latents that attend, equinox."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class LatentAttention(eqx.Module):
    """Learned latents attend to the inputs (Jaegle et al., 2021)."""

    latents: Float[Array, "num_latents latent_dim"]
    norm_inputs: eqx.nn.LayerNorm
    attention: eqx.nn.MultiheadAttention
    num_latents: int = eqx.field(static=True)

    def __init__(
        self,
        num_latents: int,
        latent_dim: int,
        input_dim: int,
        num_heads: int = 4,
        *,
        key: PRNGKeyArray,
    ):
        lkey, akey = jax.random.split(key)
        self.num_latents = num_latents
        self.latents = 0.02 * jax.random.normal(lkey, (num_latents, latent_dim))
        self.norm_inputs = eqx.nn.LayerNorm(input_dim)
        self.attention = eqx.nn.MultiheadAttention(
            num_heads=num_heads,
            query_size=latent_dim,
            key_size=input_dim,
            value_size=input_dim,
            output_size=latent_dim,
            key=akey,
        )

    def __call__(
        self,
        inputs: Float[Array, "length input_dim"],
        mask: Float[Array, " length"] | None = None,
    ) -> Float[Array, "num_latents latent_dim"]:
        keys = jax.vmap(self.norm_inputs)(inputs)
        if mask is not None:
            mask = jnp.broadcast_to(mask, (self.num_latents, inputs.shape[0]))
        return self.latents + self.attention(self.latents, keys, keys, mask=mask)


class GatedProjection(eqx.Module):
    """Two halves of one projection, of which one gates the other."""

    projection: eqx.nn.Linear

    def __init__(self, size: int, *, key: PRNGKeyArray):
        self.projection = eqx.nn.Linear(size, 2 * size, key=key)

    def __call__(self, x):
        k1, k2 = jnp.split(self.projection(x), 2)
        return k1 * jax.nn.sigmoid(k2)
