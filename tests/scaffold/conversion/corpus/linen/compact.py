import flax.linen as nn
import jax.numpy as jnp


class FiLMBlock(nn.Module):
    """Features that another input scales and shifts."""

    features: int

    @nn.compact
    def __call__(self, x, condition):
        h = nn.Dense(self.features)(x)
        gamma, beta = jnp.split(nn.Dense(2 * self.features)(condition), 2, axis=-1)
        h = nn.LayerNorm(use_bias=False, use_scale=False)(h)
        return nn.swish(h * (1 + gamma) + beta)


class DenseBlock(nn.Module):
    """Every layer sees what all layers before it made."""

    growth_rate: int = 4
    num_layers: int = 3

    @nn.compact
    def __call__(self, x, train: bool = True):
        for _ in range(self.num_layers):
            h = nn.BatchNorm(use_running_average=not train)(x)
            h = nn.relu(h)
            h = nn.Conv(self.growth_rate, (3, 3), use_bias=False)(h)
            x = jnp.concatenate([x, h], axis=-1)
        return x
