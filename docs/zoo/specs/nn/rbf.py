from enum import Enum

import jax.numpy as jnp

from mlax_scaffold.spec import (
    Float,
    Layer,
    Size,
    normal,
    sum,
    trainable,
    uniform,
    zeros,
)


class Kernel(Enum):
    GAUSSIAN = "gaussian"
    MULTIQUADRIC = "multiquadric"
    INVERSE_MULTIQUADRIC = "inverse_multiquadric"


KERNELS = {
    Kernel.GAUSSIAN: lambda r2: jnp.exp(-r2),
    Kernel.MULTIQUADRIC: lambda r2: jnp.sqrt(1 + r2),
    Kernel.INVERSE_MULTIQUADRIC: lambda r2: 1 / jnp.sqrt(1 + r2),
}


class RBF(Layer):
    """Network of radial basis functions: y = sum_i w_i phi(|x - c_i| / sigma_i)

    Broomhead & Lowe, 1988, Multivariable functional interpolation and adaptive networks.
    """

    in_features: Size  #: dimension of the input
    out_features: Size  #: dimension of the output
    centers: Size  #: number of basis functions
    kernel: Kernel = Kernel.GAUSSIAN  #: the radial function

    def setup(self):
        self.c = trainable(normal(1.0), (self.centers, self.in_features))
        self.log_sigma = trainable(zeros, (self.centers,))
        self.w = trainable(uniform(0.1), (self.centers, self.out_features))

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        r2 = sum((x[..., None, :] - self.c) ** 2, axis=-1)
        phi = KERNELS[self.kernel](r2 * jnp.exp(-2 * self.log_sigma))
        return phi @ self.w
