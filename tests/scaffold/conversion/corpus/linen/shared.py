"""Layers that a call makes once and calls more than once, and functions that make new ones, flax linen."""

from typing import Sequence

import flax.linen as nn
import jax.numpy as jnp


class Refiner(nn.Module):
    """Refines tokens several times by the same layers, and both ends by layers of their own."""

    features: int = 8
    steps: int = 2
    hidden: int | None = 12

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(self.features)(x)
        if self.hidden is not None:
            mlp = nn.Sequential(
                [
                    nn.LayerNorm(),
                    nn.Dense(self.hidden),
                    nn.relu,
                    nn.Dense(self.features),
                ]
            )
        for _ in range(self.steps):
            if self.hidden is not None:
                x = x + mlp(x)

        def gated(y, features):
            y = nn.Dense(features)(y)
            return nn.gelu(y) * nn.sigmoid(y)

        first = gated(x, self.features)
        return gated(first, self.features) + x


class FrameNorm(nn.Module):
    """Normalizes by averages of its own."""

    features: int
    momentum: float = 0.9

    def setup(self):
        dim = self.features
        self.average = self.variable("stats", "mean", lambda s: jnp.zeros(s), (dim,))
        self.spread = self.variable("stats", "var", jnp.ones, (dim,))
        self.scale = self.param("scale", nn.initializers.ones, (dim,))

    def __call__(self, x, train: bool = False):
        if train:
            mean, var = jnp.mean(x, axis=(0, 1)), jnp.var(x, axis=(0, 1))
            if not self.is_initializing():
                m = self.momentum
                self.average.value = m * self.average.value + (1 - m) * mean
                self.spread.value = m * self.spread.value + (1 - m) * var
        else:
            mean, var = self.average.value, self.spread.value
        return (x - mean) / jnp.sqrt(var + 1e-3) * self.scale


class FrameBlock(nn.Module):
    """A residual block over frames."""

    features: int

    @nn.compact
    def __call__(self, x, train):
        y = FrameNorm(self.features)(x, train)
        return x + nn.Dense(self.features)(nn.swish(y))


class FrameEncoder(nn.Module):
    """Blocks whose activations may be computed again for gradients."""

    widths: Sequence[int] = (8, 8)
    again: bool = True

    @nn.compact
    def __call__(self, x, train: bool = False):
        x = nn.Dense(self.widths[0])(x)
        block = FrameBlock
        if self.again:
            block = nn.remat(FrameBlock, static_argnums=(2,))
        for i, width in enumerate(self.widths):
            x = block(width, name=f"block_{i}")(x, train)
        return x
