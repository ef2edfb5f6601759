from mlax_scaffold.spec import (
    DType,
    Float,
    Layer,
    Positive,
    Size,
    l2_normalize,
    ones,
    trainable,
)


class WeightNorm(Layer):
    """Separates the length of a weight from its direction: y = scale * W / |W|.

    The input is the weight W, a matrix (everything else, features), and each of its
    columns has its length. Apply the layer to a kernel, and hand the result to the
    layer that the kernel belongs to.

    Salimans & Kingma, 2016, arXiv:1602.07868. Deviation from equinox: `scale` begins
    with one, as in flax, and not with |W|.
    """

    features: Size  #: size of the last axis of the weight
    use_scale: bool = True  #: whether columns have a length, else they have length one
    epsilon: Positive = 1e-12  #: the least length to divide by
    accum_dtype: DType | None = None  #: dtype of the norm; None: that of the weight

    def setup(self):
        self.scale = trainable(ones, (self.features,)) if self.use_scale else None

    def forward(self, x: Float["*rest features"]) -> Float["*rest features"]:
        matrix = x.reshape(-1, self.features)
        y = l2_normalize(
            matrix, axis=0, epsilon=self.epsilon, accum_dtype=self.accum_dtype
        )
        y = y if self.scale is None else y * self.scale
        return y.reshape(x.shape)
