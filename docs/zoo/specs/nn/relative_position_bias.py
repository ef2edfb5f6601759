import math

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, Size, normal, trainable


def relative_position_bucket(relative_position, bidirectional, num_buckets, max_distance):
    """Bucket of each relative position: exact when near, logarithmic when far."""
    ret = 0
    n = -relative_position
    if bidirectional:
        num_buckets //= 2
        ret += (n < 0).astype(jnp.int32) * num_buckets
        n = jnp.abs(n)
    else:
        n = jnp.maximum(n, 0)
    max_exact = num_buckets // 2
    is_small = n < max_exact
    val_if_large = max_exact + (
        jnp.log(jnp.maximum(n, 1).astype(jnp.float32) / max_exact)
        / math.log(max_distance / max_exact)
        * (num_buckets - max_exact)
    ).astype(jnp.int32)
    val_if_large = jnp.minimum(val_if_large, num_buckets - 1)
    return ret + jnp.where(is_small, n, val_if_large)


class RelativePositionBias(Layer):
    """Bias of attention logits by the bucket of the relative position, as in T5.

    Raffel et al., 2020, arXiv:1910.10683, section 2.1.
    """

    num_heads: Size  #: number of heads
    num_buckets: Size = 32  #: number of buckets
    max_distance: Size = 128  #: all positions farther away share the last bucket
    bidirectional: bool = True  #: whether the future is seen

    def setup(self):
        self.embedding = trainable(normal(1.0), (self.num_buckets, self.num_heads))

    def forward(
        self, query_positions: Int["queries"], key_positions: Int["keys"]
    ) -> Float["num_heads queries keys"]:
        relative = key_positions[None, :] - query_positions[:, None]
        buckets = relative_position_bucket(
            relative, self.bidirectional, self.num_buckets, self.max_distance
        )
        return self.embedding[buckets].transpose(2, 0, 1)
