from jax import lax

from mlax_scaffold.spec import (
    DType,
    Float,
    Layer,
    Positive,
    Size,
    l2_normalize,
    ones,
    spread,
    trainable,
)


class WeightNorm(Layer):
    """Separates the length of a weight from its direction: y = scale * W / |W|.

    The input is the weight W, and each of its features has its length: that of all the
    numbers that make it, |W| over the other axes. Apply the layer to a kernel, and hand
    the result to the layer that the kernel belongs to.

    Salimans & Kingma, 2016, arXiv:1602.07868. Deviation from equinox: `scale` begins
    with one, as in flax, and not with |W|.
    """

    features: Size  #: size of the last axis of the weight, or of its first one
    features_first: bool = False  #: whether that is its first axis, as in Conv
    use_scale: bool = True  #: whether features have a length, else they have length one
    epsilon: Positive = 1e-12  #: the least length to divide by
    accum_dtype: DType | None = None  #: dtype of the norm; None: that of the weight

    def setup(self):
        self.scale = trainable(ones, (self.features,)) if self.use_scale else None

    def forward(
        self, x: Float["features *rest if features_first else *rest features"]
    ) -> Float["features *rest if features_first else *rest features"]:
        rest = tuple(range(1, x.ndim) if self.features_first else range(x.ndim - 1))
        y = l2_normalize(
            x, axis=rest, epsilon=self.epsilon, accum_dtype=self.accum_dtype
        )
        if self.scale is None:
            return y
        scale = lax.expand_dims(self.scale, rest) if self.features_first else self.scale
        return y * spread(scale, y.shape)
