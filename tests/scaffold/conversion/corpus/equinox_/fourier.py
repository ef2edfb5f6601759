import equinox as eqx
import jax
import jax.numpy as jnp


class FourierBlock(eqx.Module):
    weight: jax.Array
    norm: eqx.nn.LayerNorm
    mlp: eqx.nn.MLP
    scale: float = eqx.field(static=True)

    def __init__(self, dim, key, scale=0.5):
        k1, k2 = jax.random.split(key)
        self.weight = jax.random.normal(k1, (dim, dim)) / jnp.sqrt(dim)
        self.norm = eqx.nn.LayerNorm(dim)
        self.mlp = eqx.nn.MLP(dim, dim, 16, 2, key=k2)
        self.scale = scale

    def __call__(self, x):
        y = self.norm(x)
        return x + self.scale * self.mlp(jnp.sin(self.weight @ y))
