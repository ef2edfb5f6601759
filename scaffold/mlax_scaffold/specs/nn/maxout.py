from mlax_scaffold.spec import (
    Float,
    Layer,
    Precision,
    Size,
    lecun_normal,
    max,
    spread,
    trainable,
    zeros,
)


class Maxout(Layer):
    """The largest of several affine maps: y = max_i (x W_i + b_i).

    Goodfellow et al., 2013, arXiv:1302.4389. The kernel is (in_features, pieces *
    out_features): one product for all pieces.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    pieces: Size = 2  #: number of affine maps
    use_bias: bool = True  #: whether biases are added
    precision: Precision | None = None  #: of the product, see jax.lax.Precision

    def setup(self):
        shape = (self.in_features, self.pieces * self.out_features)
        self.kernel = trainable(lecun_normal(), shape)
        self.bias = trainable(zeros, shape[1:]) if self.use_bias else None

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        y = x.reshape(-1, self.in_features).dot(self.kernel, precision=self.precision)
        y = y if self.bias is None else y + spread(self.bias, y.shape)
        shape = (*x.shape[:-1], self.pieces, self.out_features)
        return max(y.reshape(shape), axis=-2)
