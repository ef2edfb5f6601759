from mlax_scaffold.spec import (
    Float,
    Layer,
    Positive,
    Precision,
    Size,
    he_uniform,
    trainable,
    zeros,
)


class LoRA(Layer):
    """Map of low rank: y = x A B * alpha / rank, which begins as zero.

    Hu et al., 2021, arXiv:2106.09685: it is added to a map whose weights stay. As in
    flax, A is drawn He uniform, B is zero, and without alpha nothing is scaled.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    rank: Size  #: rank of the map
    alpha: Positive | None = None  #: the result is scaled by alpha / rank; None: by 1
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        self.down = trainable(he_uniform(), (self.in_features, self.rank))
        self.up = trainable(zeros, (self.rank, self.out_features))

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        batch = x.shape[:-1]
        # Matrix products are faster than batches of them.
        matrix = x.reshape(-1, self.in_features) if x.ndim > 2 else x
        low = matrix.dot(self.down, precision=self.precision)
        low = low if self.alpha is None else low * (self.alpha / self.rank)
        y = low.dot(self.up, precision=self.precision)
        return y.reshape(*batch, y.shape[-1]) if x.ndim > 2 else y
