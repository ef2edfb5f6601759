from typing import Callable, Sequence

import flax.linen as nn
import jax
import jax.numpy as jnp


class DoubleConv(nn.Module):
    features: int
    kernel_size: tuple = (3, 3)
    act: Callable = nn.relu

    @nn.compact
    def __call__(self, x, train: bool = True):
        for _ in range(2):
            x = nn.Conv(
                self.features, self.kernel_size, padding="SAME", use_bias=False
            )(x)
            x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
            x = self.act(x)
        return x


class UNet(nn.Module):
    widths: Sequence[int] = (4, 8, 16)
    out_channels: int = 1

    @nn.compact
    def __call__(self, x, train: bool = True):
        skips = []
        for width in self.widths[:-1]:
            x = DoubleConv(width)(x, train)
            skips.append(x)
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = DoubleConv(self.widths[-1])(x, train)
        for width in reversed(self.widths[:-1]):
            x = nn.ConvTranspose(width, (2, 2), strides=(2, 2))(x)
            skip = skips.pop()
            x = jnp.concatenate([x, skip], axis=-1)
            x = DoubleConv(width)(x, train)
        return nn.Conv(self.out_channels, (1, 1))(x)
