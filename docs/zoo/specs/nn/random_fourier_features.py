import math

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Layer, Positive, Size, normal, state


class RandomFourierFeatures(Layer):
    """Random Fourier features of the Gaussian kernel: sqrt(2/D) cos(x W + b)

    Rahimi & Recht, 2007, Random Features for Large-Scale Kernel Machines, NIPS.
    """

    in_features: Size  #: size of the last axis
    num_features: Size  #: D
    bandwidth: Positive = 1.0  #: sigma of the kernel exp(-|x - y|^2 / (2 sigma^2))

    def setup(self):
        self.W = state(normal(1 / self.bandwidth), (self.in_features, self.num_features))
        self.b = state(
            lambda key, shape, dtype: jax.random.uniform(key, shape, dtype, 0, 2 * np.pi),
            (self.num_features,),
        )

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch num_features"]:
        return math.sqrt(2 / self.num_features) * jnp.cos(x @ self.W + self.b)
