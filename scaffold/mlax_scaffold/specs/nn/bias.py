from jax import lax

from mlax_scaffold.spec import (
    Count,
    Float,
    Layer,
    Shape,
    Size,
    spread,
    trainable,
    zeros,
)


class Bias(Layer):
    """Adds a weight to the last axis: y = x + b.

    Or the axis before `spatial_dims` others, where channels come first. With
    `leading_features` each element of several axes has a weight of its own.
    """

    features: Size  #: size of the last axis, or of the one before the spatial axes
    spatial_dims: Count = 0  #: number of axes behind the features
    leading_features: Shape = ()  #: sizes of axes before it that have weights, too

    def setup(self):
        self.bias = trainable(zeros, (*self.leading_features, self.features))

    def forward(
        self, x: Float["*batch *leading_features features *spatial"]
    ) -> Float["*batch *leading_features features *spatial"]:
        first = 1 + len(self.leading_features)
        behind = range(first, first + self.spatial_dims)
        bias = lax.expand_dims(self.bias, behind) if behind else self.bias
        return x + spread(bias, x.shape)
