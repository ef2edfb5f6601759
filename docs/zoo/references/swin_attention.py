"""Liu et al., 2021, arXiv:2103.14030, section 3.2. One pair of places after another."""

import numpy as np

from .common import dense, softmax


def swin_attention(x, qkv, proj, table, heads, window, shift=0):
    """x: (batch, height, width, f); qkv, proj: affine maps; table: ((2 window - 1)^2, heads)."""
    _, height, width, features = x.shape
    size = features // heads
    rows, columns = np.divmod(np.arange(height * width), width)

    def region(place, length):
        # After the roll, what was wrapped around is not beside what it follows.
        return (
            np.where(place < length - window, 0, np.where(place < length - shift, 1, 2))
            if shift
            else 0 * place
        )

    x = np.roll(x, (-shift, -shift), axis=(1, 2))
    q, k, v = np.split(dense(qkv, x).reshape(x.shape[0], -1, 3 * features), 3, axis=-1)
    same = np.ones((height * width,) * 2, bool)
    alike = np.ones((height * width,) * 2, bool)
    for place, length in ((rows, height), (columns, width)):
        block, part = place // window, region(place, length)
        same &= block[:, None] == block[None]
        alike &= part[:, None] == part[None]
    down, right = rows[:, None] - rows[None], columns[:, None] - columns[None]
    index = np.where(
        same, (down + window - 1) * (2 * window - 1) + right + window - 1, 0
    )
    y = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        logits = (
            q[..., part] @ k[..., part].swapaxes(-1, -2) * size**-0.5
            + table[index, head]
        )
        logits = np.where(same & alike, logits, np.where(same, -100.0, -np.inf))
        y.append(softmax(logits) @ v[..., part])
    y = dense(proj, np.concatenate(y, axis=-1)).reshape(x.shape)
    return np.roll(y, (shift, shift), axis=(1, 2))
