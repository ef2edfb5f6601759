from mlax_scaffold.spec import (
    Axis,
    AxisName,
    Bool,
    DType,
    Float,
    Layer,
    Positive,
    Shape,
    Size,
    layer_norm,
    ones,
    spread,
    trainable,
    zeros,
)


class LayerNorm(Layer, invariances=["permutable batch"]):
    """Normalizes the last axis: y = (x - mean) / sqrt(var + epsilon) * scale + bias.

    Or several axes together; the weights belong to the last one, and with
    `leading_features` to each element of several, as in PyTorch and equinox.

    Ba et al., 2016, arXiv:1607.06450. Epsilon is that of PyTorch, equinox and haiku
    (of flax: 1e-6). Mean and variance are of the elements that the mask
    selects; all are normalized by them.
    """

    features: Size  #: size of the last axis, each element of which has its weights
    axis: Axis = -1  #: axes that are normalized together
    use_scale: bool = True  #: whether the result is multiplied by a weight
    use_bias: bool = True  #: whether a bias is added
    epsilon: Positive = 1e-5  #: added to the variance
    axis_name: AxisName | None = None  #: mapped axes of devices, averaged over as well
    accum_dtype: DType | None = None  #: dtype of the statistics; None: that of x
    leading_features: Shape = ()  #: sizes of axes before it that have weights, too

    def setup(self):
        shape = (*self.leading_features, self.features)
        self.scale = trainable(ones, shape) if self.use_scale else None
        self.bias = trainable(zeros, shape) if self.use_bias else None

    def forward(
        self,
        x: Float["*batch *leading_features features"],
        *,
        mask: Bool["# *batch *leading_features features"] | None = None,
    ) -> Float["*batch *leading_features features"]:
        y = layer_norm(
            x,
            mask,
            axis=self.axis,
            epsilon=self.epsilon,
            axis_name=self.axis_name,
            accum_dtype=self.accum_dtype,
        )
        y = y if self.scale is None else y * spread(self.scale, x.shape)
        return y if self.bias is None else y + spread(self.bias, x.shape)
