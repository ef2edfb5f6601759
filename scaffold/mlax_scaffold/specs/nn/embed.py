from mlax_scaffold.spec import (
    Float,
    Int,
    Layer,
    Precision,
    Size,
    take_rows,
    trainable,
    variance_scaling,
)


class Embed(Layer):
    """Table of vectors: y = E[x]. `attend` gives x E^T, the logits of a tied output.

    An index outside of the table gives NaN; negative ones count from its end.
    """

    entries: Size  #: number of vectors
    features: Size  #: size of a vector
    precision: Precision | None = None  #: of the product of `attend`

    def setup(self):
        self.embedding = trainable(
            variance_scaling(1.0, "fan_in", "normal", out_axis=0),
            (self.entries, self.features),
        )

    def forward(self, x: Int["*batch"]) -> Float["*batch features"]:
        return take_rows(self.embedding, x, from_end=True)

    def attend(self, x: Float["*batch features"]) -> Float["*batch entries"]:
        return x.dot(self.embedding.T, precision=self.precision)
