import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, constant, require, spread, trainable


class PReLU(Layer):
    """ReLU with a learned slope below zero: y = x where x >= 0, else slope * x.

    He et al., 2015, arXiv:1502.01852, whose slope begins at 0.25 (that of flax at 0.01).
    """

    features: Size = 1  #: number of slopes: the size of their axis, or 1 for all
    axis: int = -1  #: axis that has the slopes

    examples = (
        {"features": 1, "axis": -1, "x": (2, 3), "y": (2, 3)},
        {"features": 3, "axis": -1, "x": (2, 3), "y": (2, 3)},
        {"features": 4, "axis": 1, "x": (2, 4, 3, 1), "y": (2, 4, 3, 1)},
        {"features": 4, "axis": -2, "x": (3, 4, 2), "y": (3, 4, 2)},
    )

    def setup(self):
        self.slope = trainable(constant(0.25), (self.features,))

    def forward(self, x: Float["*shape"]) -> Float["*shape"]:
        if self.features == 1:
            slope = self.slope.reshape(())
        else:
            require(
                x.shape[self.axis : self.axis + 1 or None] == (self.features,),
                "features must be 1 or the size of the axis",
            )
            shape = [1] * x.ndim
            shape[self.axis] = self.features
            slope = self.slope.reshape(shape)
        return jnp.where(x >= 0.0, x, spread(slope, x.shape) * x)
