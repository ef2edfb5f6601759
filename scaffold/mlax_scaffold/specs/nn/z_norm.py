from mlax_scaffold.spec import (
    Axis,
    Bool,
    DType,
    Float,
    Layer,
    Positive,
    z_norm,
)


class ZNorm(Layer):
    """Standard score: y = (x - mean(x)) / sqrt(var(x) + epsilon), without weights.

    Mean and variance are of the elements that the mask selects.
    """

    axis: Axis = -1  #: axes that are normalized together
    epsilon: Positive = 1e-5  #: added to the variance
    accum_dtype: DType | None = None  #: dtype of the computation; None: that of x

    def forward(
        self, x: Float["*shape"], *, mask: Bool["# *shape"] | None = None
    ) -> Float["*shape"]:
        return z_norm(
            x,
            mask,
            axis=self.axis,
            epsilon=self.epsilon,
            accum_dtype=self.accum_dtype,
        )
