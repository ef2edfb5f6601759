import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, Size, normal, require, trainable


class LearnedPositionalEmbedding(Layer):
    """Adds a weight of the position: y = x + P[position].

    Gehring et al., 2017, arXiv:1705.03122. Positions are 0, 1, 2 ... unless given; one
    outside of the table gives NaN.
    """

    length: Size  #: number of positions in the table
    features: Size  #: size of the last axis

    def setup(self):
        self.embedding = trainable(normal(0.02), (self.length, self.features))

    def forward(
        self,
        x: Float["*batch positions features"],
        *,
        positions: Int["# *batch positions"] | None = None,
    ) -> Float["*batch positions features"]:
        if positions is None:
            require(x.shape[-2] <= self.length, "there are at most length positions")
            return x + self.embedding[: x.shape[-2]]
        return x + jnp.take(self.embedding, positions, axis=0)
