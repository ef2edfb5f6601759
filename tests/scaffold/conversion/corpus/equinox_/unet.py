from typing import Callable, List
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class DoubleConv(eqx.Module):
    conv1: eqx.nn.Conv2d
    conv2: eqx.nn.Conv2d
    norm1: eqx.nn.GroupNorm
    norm2: eqx.nn.GroupNorm

    def __init__(self, c_in, c_out, *, key):
        k1, k2 = jr.split(key)
        self.conv1 = eqx.nn.Conv2d(c_in, c_out, 3, padding=1, key=k1)
        self.conv2 = eqx.nn.Conv2d(c_out, c_out, 3, padding=1, key=k2)
        self.norm1 = eqx.nn.GroupNorm(2, c_out)
        self.norm2 = eqx.nn.GroupNorm(2, c_out)

    def __call__(self, x):
        x = jax.nn.silu(self.norm1(self.conv1(x)))
        return jax.nn.silu(self.norm2(self.conv2(x)))


class UNet(eqx.Module):
    """A U-Net over one image."""

    stem: DoubleConv
    downs: List[DoubleConv]
    ups: List[eqx.nn.ConvTranspose2d]
    fuses: List[DoubleConv]
    head: eqx.nn.Conv2d
    pool: eqx.nn.MaxPool2d

    def __init__(
        self, in_channels: int, out_channels: int, base: int = 4, depth: int = 2, *, key
    ):
        keys = jr.split(key, 3 * depth + 2)
        self.stem = DoubleConv(in_channels, base, key=keys[0])
        widths = [base * 2**i for i in range(depth + 1)]
        self.downs = [
            DoubleConv(widths[i], widths[i + 1], key=keys[1 + i]) for i in range(depth)
        ]
        self.ups = [
            eqx.nn.ConvTranspose2d(
                widths[i + 1], widths[i], 2, stride=2, key=keys[1 + depth + i]
            )
            for i in reversed(range(depth))
        ]
        self.fuses = [
            DoubleConv(2 * widths[i], widths[i], key=keys[1 + 2 * depth + i])
            for i in reversed(range(depth))
        ]
        self.head = eqx.nn.Conv2d(base, out_channels, 1, key=keys[-1])
        self.pool = eqx.nn.MaxPool2d(2, stride=2)

    def __call__(self, x):
        x = self.stem(x)
        skips = []
        for down in self.downs:
            skips.append(x)
            x = down(self.pool(x))
        for up, fuse in zip(self.ups, self.fuses):
            x = up(x)
            x = fuse(jnp.concatenate([skips.pop(), x], axis=0))
        return self.head(x)
