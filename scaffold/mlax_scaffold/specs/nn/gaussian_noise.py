import jax

from mlax_scaffold.spec import Float, Layer, NonNegative


class GaussianNoise(Layer):
    """Adds normal noise in training: y = x + std * n.

    Bishop, 1995, Training with noise is equivalent to Tikhonov regularization.
    """

    std: NonNegative = 0.1  #: standard deviation of the noise

    def forward(self, x: Float["*shape"]) -> Float["*shape"]:
        if not self.training or self.std == 0.0:
            return x
        return x + self.std * jax.random.normal(self.key(), x.shape, x.dtype)
