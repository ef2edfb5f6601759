import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import Float, Layer, Probability, Size, bernoulli, sum


class DropBlock2D(Layer):
    """Drops square blocks of feature maps during training.

    Ghiasi, Lin & Le, 2018, DropBlock: A regularization method for convolutional networks,
    arXiv:1810.12890, algorithm 1.
    """

    block_size: Size  #: side of the blocks that are dropped
    keep_prob: Probability = 0.9  #: probability that an element is kept

    def gamma(self, height: int, width: int):
        """Probability that a block is centered at a place (equation 1)."""
        valid = (height - self.block_size + 1) * (width - self.block_size + 1)
        return (1 - self.keep_prob) / self.block_size**2 * height * width / valid

    def forward(
        self, x: Float["batch height width channels"]
    ) -> Float["batch height width channels"]:
        if not self.training or self.keep_prob == 1.0:
            return x
        batch, height, width, channels = x.shape
        if self.block_size > min(height, width):
            raise ValueError("block_size is greater than the feature map")
        b = self.block_size
        seeds = bernoulli(
            self.key(),
            p=self.gamma(height, width),
            shape=(batch, height - b + 1, width - b + 1, channels),
        )
        seeds = jnp.pad(seeds, ((0, 0), (b - 1, b - 1), (b - 1, b - 1), (0, 0)))
        dropped = lax.reduce_window(
            seeds, False, lax.bitwise_or, (1, b, b, 1), (1, 1, 1, 1), "VALID"
        )
        mask = 1.0 - dropped.astype(x.dtype)
        return x * mask * (mask.size / sum(mask))
