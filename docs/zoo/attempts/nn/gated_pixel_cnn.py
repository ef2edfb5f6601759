from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mlax_scaffold.spec import Float, Layer, Literal, Size, glorot_uniform, trainable, zeros


class Stacks(NamedTuple):
    """The vertical and the horizontal stack."""

    vertical: jax.Array
    horizontal: jax.Array


def conv(x, kernel):
    """Convolution of NHWC images, padded so that the size stays."""
    return lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def gate(x):
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.tanh(a) * jax.nn.sigmoid(b)


class GatedPixelCNN(Layer):
    """One layer of a gated PixelCNN: a vertical and a horizontal stack without blind spot.

    van den Oord et al., 2016, Conditional Image Generation with PixelCNN Decoders,
    arXiv:1606.05328, figure 2. The mask "A" hides the pixel itself (first layer), "B" shows it.
    """

    features: Size  #: channels of both stacks
    kernel_size: Size = 3  #: odd
    mask: Literal["A", "B"] = "B"  #: whether a pixel sees itself

    def setup(self):
        if self.kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd, got {self.kernel_size}")
        k, n = self.kernel_size, self.features
        self.vertical_kernel = trainable(glorot_uniform(), (k, k, n, 2 * n))
        self.horizontal_kernel = trainable(glorot_uniform(), (1, k, n, 2 * n))
        self.link = trainable(glorot_uniform(), (1, 1, 2 * n, 2 * n))
        self.out = trainable(glorot_uniform(), (1, 1, n, n))
        self.bias = trainable(zeros, (2 * n,))

    @property
    def vertical_mask(self):
        k = self.kernel_size
        mask = np.zeros((k, k, 1, 1))
        mask[: k // 2 + (self.mask == "B")] = 1
        return mask

    @property
    def horizontal_mask(self):
        k = self.kernel_size
        mask = np.zeros((1, k, 1, 1))
        mask[:, : k // 2 + (self.mask == "B")] = 1
        return mask

    def forward(
        self,
        v: Float["batch height width features"],
        h: Float["batch height width features"],
    ) -> Stacks:
        below = conv(v, self.vertical_kernel * self.vertical_mask)
        vertical = gate(below + self.bias)
        # The horizontal stack may see all rows above, so the vertical features move down a row.
        above = jnp.pad(below, ((0, 0), (1, 0), (0, 0), (0, 0)))[:, :-1]
        side = conv(h, self.horizontal_kernel * self.horizontal_mask)
        out = conv(gate(side + conv(above, self.link)), self.out)
        if self.mask == "B":
            out = out + h
        return Stacks(vertical, out)
