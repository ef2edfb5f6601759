from mlax_scaffold.spec import (
    Float,
    Int,
    Layer,
    Positive,
    Size,
    require,
    rotary_embedding,
)


class RotaryEmbedding(Layer):
    """Turns pairs of features of queries and keys by angles that grow with position.

    (a, b) becomes (a cos - b sin, b cos + a sin) with the angle position / base^(2 i / n)
    for pair i, so that products of queries and keys depend on differences of positions.

    Su et al., 2021, arXiv:2104.09864. The function is `functional.rotary_embedding`,
    which `MultiHeadAttention` takes as `rotary`.
    """

    features: Size  #: size of a head
    base: Positive = 10000.0  #: what the wavelengths grow up to, by 2 pi
    interleaved: bool = False  #: whether neighbours are a pair, else the two halves
    rotary_features: Size | None = None  #: how many features turn; None: all

    def setup(self):
        size = self.rotary_features or self.features
        require(size % 2 == 0, "the number of features that turn must be even")
        require(size <= self.features, "rotary_features must be at most the features")

    def forward(
        self,
        x: Float["*batch positions heads features"],
        *,
        positions: Int["# *batch positions"] | None = None,
    ) -> Float["*batch positions heads features"]:
        return rotary_embedding(
            x,
            positions,
            base=self.base,
            interleaved=self.interleaved,
            rotary_features=self.rotary_features,
        )
