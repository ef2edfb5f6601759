import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.multi_head_attention import MultiHeadAttention


class AxialAttention(Layer):
    """Attention along each of several axes, one after the other; the results are summed.

    Ho et al., 2019, Axial Attention in Multidimensional Transformers, arXiv:1912.12180.
    """

    features: Size  #: channels, the last axis
    num_heads: Size = 1  #: heads of each attention
    num_axes: Size = 2  #: how many axes there are between the batch and the channels

    def setup(self):
        self.attentions = [
            MultiHeadAttention(self.features, self.num_heads)
            for _ in range(self.num_axes)
        ]

    def along(self, attention, x, axis):
        moved = jnp.moveaxis(x, axis, -2)
        flat = moved.reshape(-1, *moved.shape[-2:])
        y = attention(flat).reshape(moved.shape)
        return jnp.moveaxis(y, -2, axis)

    def forward(self, x: Float["batch *axes features"]) -> Float["batch *axes features"]:
        return sum(
            self.along(attention, x, axis)
            for axis, attention in enumerate(self.attentions, start=1)
        )
