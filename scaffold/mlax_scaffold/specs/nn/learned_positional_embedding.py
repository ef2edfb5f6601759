from mlax_scaffold.spec import (
    Float,
    Int,
    Layer,
    Size,
    normal,
    require,
    spread,
    take_rows,
    trainable,
)


class LearnedPositionalEmbedding(Layer):
    """Adds a weight of the position: y = x + P[position].

    Gehring et al., 2017, arXiv:1705.03122. Positions are 0, 1, 2 ... unless given; one
    outside of the table, -1 for example, gives NaN.
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
            rows = self.embedding[: x.shape[-2]]
        else:
            rows = take_rows(self.embedding, positions)
        return x + spread(rows, x.shape)
