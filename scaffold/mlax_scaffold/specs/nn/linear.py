from mlax_scaffold.spec import (
    Float,
    Layer,
    Precision,
    Size,
    lecun_normal,
    spread,
    trainable,
    zeros,
)


class Linear(Layer, aliases={"out_features": "output_size"}):
    """Affine map of the last axis: y = x W + b.

    The kernel is (in_features, out_features), not transposed. An input with more than
    two axes is reshaped to a matrix for the product, and back.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the product, see jax.lax.Precision

    def setup(self):
        self.kernel = trainable(lecun_normal(), (self.in_features, self.out_features))
        self.bias = trainable(zeros, (self.out_features,)) if self.use_bias else None

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        batch = x.shape[:-1]
        # One matrix product is faster than a batch of them.
        matrix = x.reshape(-1, self.in_features) if len(batch) > 1 else x
        y = matrix.dot(self.kernel, precision=self.precision)
        y = y if self.bias is None else y + spread(self.bias, y.shape)
        return y.reshape(*batch, y.shape[-1]) if len(batch) > 1 else y
