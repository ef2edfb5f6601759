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
    ones,
    rms_norm,
    spread,
    trainable,
    zeros,
)


class RMSNorm(Layer, invariances=["permutable batch"]):
    """Divides the last axis, or several, by the root mean square.

    y = x / sqrt(mean(x^2) + epsilon) * scale + bias; the weights belong to the last axis,
    and with `leading_features` to each element of several.
    Zhang & Sennrich, 2019, arXiv:1910.07467. Epsilon is that of flax (of equinox and
    haiku: 1e-5). The mean square is of the elements that the mask selects.
    """

    features: Size  #: size of the last axis, each element of which has its weights
    axis: Axis = -1  #: axes that are normalized together
    use_scale: bool = True  #: whether the result is multiplied by a weight
    use_bias: bool = False  #: whether a bias is added
    epsilon: Positive = 1e-6  #: added to the mean square
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
        y = rms_norm(
            x,
            mask,
            axis=self.axis,
            epsilon=self.epsilon,
            axis_name=self.axis_name,
            accum_dtype=self.accum_dtype,
        )
        y = y if self.scale is None else y * spread(self.scale, x.shape)
        return y if self.bias is None else y + spread(self.bias, x.shape)
