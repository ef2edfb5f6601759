from jax import lax

from mlax_scaffold.spec import (
    Count,
    Float,
    Layer,
    Shape,
    Size,
    ones,
    spread,
    trainable,
)


class Scaler(Layer):
    """Multiplies the last axis by a weight: y = x * s.

    Or the axis before `spatial_dims` others, where channels come first. With
    `leading_features` each element of several axes has a weight of its own.
    """

    features: Size  #: size of the last axis, or of the one before the spatial axes
    spatial_dims: Count = 0  #: number of axes behind the features
    leading_features: Shape = ()  #: sizes of axes before it that have weights, too

    def setup(self):
        self.scale = trainable(ones, (*self.leading_features, self.features))

    def forward(
        self, x: Float["*batch *leading_features features *spatial"]
    ) -> Float["*batch *leading_features features *spatial"]:
        first = 1 + len(self.leading_features)
        behind = range(first, first + self.spatial_dims)
        scale = lax.expand_dims(self.scale, behind) if behind else self.scale
        return x * spread(scale, x.shape)
