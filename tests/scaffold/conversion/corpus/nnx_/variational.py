"""The VAE of flax's nnx examples."""

import typing as tp

import jax
import jax.numpy as jnp
from flax import nnx


class Loss(nnx.Variable):
    pass


class Encoder(nnx.Module):
    def __init__(self, din: int, dmid: int, dout: int, *, rngs: nnx.Rngs):
        self.linear1 = nnx.Linear(din, dmid, rngs=rngs)
        self.linear_mean = nnx.Linear(dmid, dout, rngs=rngs)
        self.linear_std = nnx.Linear(dmid, dout, rngs=rngs)
        self.rngs = rngs

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x.reshape((x.shape[0], -1))  # flatten
        x = self.linear1(x)
        x = jax.nn.relu(x)

        mean = self.linear_mean(x)
        std = jnp.exp(self.linear_std(x))

        self.kl_loss = Loss(
            jnp.mean(0.5 * jnp.mean(-jnp.log(std**2) - 1.0 + std**2 + mean**2, axis=-1))
        )
        key = self.rngs.noise()
        z = mean + std * jax.random.normal(key, mean.shape)
        return z


class Decoder(nnx.Module):
    def __init__(self, din: int, dmid: int, dout: int, *, rngs: nnx.Rngs):
        self.linear1 = nnx.Linear(din, dmid, rngs=rngs)
        self.linear2 = nnx.Linear(dmid, dout, rngs=rngs)

    def __call__(self, z: jax.Array) -> jax.Array:
        z = self.linear1(z)
        z = jax.nn.relu(z)
        logits = self.linear2(z)
        return logits


class NnxVAE(nnx.Module):
    def __init__(
        self,
        din: int,
        hidden_size: int,
        latent_size: int,
        output_shape: tp.Sequence[int],
        *,
        rngs: nnx.Rngs,
    ):
        self.output_shape = output_shape
        self.encoder = Encoder(din, hidden_size, latent_size, rngs=rngs)
        self.decoder = Decoder(
            latent_size, hidden_size, int(jnp.prod(jnp.array(output_shape))), rngs=rngs
        )

    def __call__(self, x: jax.Array) -> jax.Array:
        z = self.encoder(x)
        logits = self.decoder(z)
        logits = jnp.reshape(logits, (-1, *self.output_shape))
        return logits

    def generate(self, z):
        logits = self.decoder(z)
        logits = jnp.reshape(logits, (-1, *self.output_shape))
        return nnx.sigmoid(logits)
