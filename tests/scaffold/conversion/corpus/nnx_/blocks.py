import jax
import jax.numpy as jnp
from flax import nnx


class Autoencoder(nnx.Module):
    """A small autoencoder with batch statistics."""

    def __init__(self, din: int, dlatent: int, *, rngs: nnx.Rngs):
        self.encoder = nnx.Linear(din, 2 * dlatent, rngs=rngs)
        self.bn = nnx.BatchNorm(2 * dlatent, rngs=rngs)
        self.to_latent = nnx.Linear(2 * dlatent, dlatent, rngs=rngs)
        self.decoder = nnx.Linear(dlatent, din, rngs=rngs)

    def encode(self, x: jax.Array) -> jax.Array:
        return self.to_latent(nnx.relu(self.bn(self.encoder(x))))

    def __call__(self, x: jax.Array) -> jax.Array:
        return jax.nn.sigmoid(self.decoder(self.encode(x)))


class ScaledSwiGLU(nnx.Module):
    def __init__(self, dim: int, hidden: int, *, rngs: nnx.Rngs):
        self.gate_up = nnx.Linear(dim, 2 * hidden, use_bias=False, rngs=rngs)
        self.down = nnx.Linear(hidden, dim, use_bias=False, rngs=rngs)
        self.scale = nnx.Param(jnp.full((dim,), 0.1))

    def __call__(self, x):
        gate, up = jnp.split(self.gate_up(x), 2, axis=-1)
        return x + self.scale * self.down(nnx.silu(gate) * up)
