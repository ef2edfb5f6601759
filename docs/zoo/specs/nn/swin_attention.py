import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import (
    Count,
    Float,
    Layer,
    Size,
    require,
    softmax,
    trainable,
    truncated_normal,
)
from mlax_scaffold.specs.nn.linear import Linear


def window_partition(x, window):
    """(batch, height, width, c) -> (batch * windows, window * window, c)."""
    b, h, w, c = x.shape
    x = x.reshape(b, h // window, window, w // window, window, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, window * window, c)


def window_reverse(windows, window, h, w):
    c = windows.shape[-1]
    x = windows.reshape(-1, h // window, w // window, window, window, c)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, h, w, c)


def relative_index(window):
    """Index into the table of biases for each pair of places in a window."""
    coords = np.stack(np.meshgrid(np.arange(window), np.arange(window), indexing="ij"))
    flat = coords.reshape(2, -1)
    relative = (flat[:, :, None] - flat[:, None, :]).transpose(1, 2, 0) + window - 1
    return relative[..., 0] * (2 * window - 1) + relative[..., 1]


def shifted_mask(h, w, window, shift):
    """Which pairs belong together once the image is rolled by `shift`."""
    regions = np.zeros((1, h, w, 1))
    count = 0
    slices = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
    for rows in slices:
        for columns in slices:
            regions[:, rows, columns, :] = count
            count += 1
    ids = regions.reshape(1, h // window, window, w // window, window, 1)
    ids = ids.transpose(0, 1, 3, 2, 4, 5).reshape(-1, window * window)
    return ids[:, None, :] == ids[:, :, None]


class SwinAttention(Layer):
    """Attention within (shifted) windows of an image, with learned relative biases.

    Liu et al., 2021, Swin Transformer: Hierarchical Vision Transformer using Shifted
    Windows, arXiv:2103.14030.
    """

    features: Size  #: channels
    num_heads: Size  #: heads
    window: Size = 7  #: side of the windows; must divide height and width
    shift: Count = 0  #: by how much the windows are shifted; 0, or window // 2

    examples = (
        {"features": 8, "num_heads": 2, "window": 2, "shift": 0, "x": (1, 4, 4, 8), "y": (1, 4, 4, 8)},
        {"features": 8, "num_heads": 2, "window": 4, "shift": 2, "x": (2, 8, 8, 8), "y": (2, 8, 8, 8)},
    )

    def setup(self):
        require(self.features % self.num_heads == 0, "num_heads must divide features")
        require(self.shift < self.window, "shift must be below window")
        self.qkv = Linear(self.features, 3 * self.features)
        self.proj = Linear(self.features, self.features)
        self.table = trainable(
            truncated_normal(), ((2 * self.window - 1) ** 2, self.num_heads)
        )

    def forward(
        self, x: Float["batch height width features"]
    ) -> Float["batch height width features"]:
        _, h, w, c = x.shape
        if h % self.window or w % self.window:
            raise ValueError(f"window {self.window} must divide the image, {h} x {w}")
        if self.shift > 0:
            x = jnp.roll(x, (-self.shift, -self.shift), axis=(1, 2))
        windows = window_partition(x, self.window)
        n, length, _ = windows.shape
        qkv = self.qkv(windows).reshape(n, length, 3, self.num_heads, c // self.num_heads)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        logits = jnp.einsum("nqhd,nkhd->nhqk", q, k) * (c // self.num_heads) ** -0.5
        bias = self.table[relative_index(self.window)]
        logits = logits + bias.transpose(2, 0, 1)
        if self.shift > 0:
            mask = shifted_mask(h, w, self.window, self.shift)
            mask = np.tile(mask, (n // mask.shape[0], 1, 1))[:, None]
            logits = jnp.where(mask, logits, -100.0)
        y = jnp.einsum("nhqk,nkhd->nqhd", softmax(logits, axis=-1), v)
        y = window_reverse(self.proj(y.reshape(n, length, c)), self.window, h, w)
        if self.shift > 0:
            y = jnp.roll(y, (self.shift, self.shift), axis=(1, 2))
        return y
