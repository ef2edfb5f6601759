import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, constant, require, trainable


class PReLU(Layer):
    """ReLU with a learned slope below zero: y = x where x >= 0, else slope * x.

    He et al., 2015, arXiv:1502.01852, whose slope begins at 0.25 (that of flax at 0.01).
    """

    features: Size = 1  #: number of slopes: the size of the last axis, or 1 for all

    def setup(self):
        self.slope = trainable(constant(0.25), (self.features,))

    def forward(self, x: Float["*batch size"]) -> Float["*batch size"]:
        require(
            self.features in (1, x.shape[-1]),
            "features must be 1 or the size of the last axis",
        )
        return jnp.where(x >= 0.0, x, self.slope * x)
