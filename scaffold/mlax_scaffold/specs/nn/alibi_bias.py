import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size


class AlibiBias(Layer):
    """Adds to attention logits a bias that falls with the distance: -slope |i - j|.

    The slope of head h of n is 2^(-8 h / n), h from 1, where n is a power of two; else
    those of the power of two below n, and every second one of the power above.

    Press et al., 2021, arXiv:2108.12409. Deviation: keys after the query have a bias
    too, so that attention need not be causal. `hyperparams.bias` makes the bias alone,
    which `MultiHeadAttention` takes as `bias`.
    """

    heads: Size  #: number of heads

    def setup(self):
        below = 2 ** int(math.log2(self.heads))
        first = [2.0 ** (-8.0 * (h + 1) / below) for h in range(below)]
        more = [2.0 ** (-4.0 * (h + 1) / below) for h in range(0, 2 * below, 2)]
        self.slopes: tuple[float, ...] = tuple((first + more)[: self.heads])

    def bias(self, queries, keys, dtype, start=0):
        """The bias, (heads, queries, keys), of queries from position `start`."""
        distance = jnp.abs(start + jnp.arange(queries)[:, None] - jnp.arange(keys))
        slopes = jnp.asarray(self.slopes, dtype)[:, None, None]
        return -slopes * distance.astype(dtype)

    def forward(
        self, x: Float["*batch heads queries keys"]
    ) -> Float["*batch heads queries keys"]:
        return x + self.bias(x.shape[-2], x.shape[-1], x.dtype)
