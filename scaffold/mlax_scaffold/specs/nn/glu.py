import jax

from mlax_scaffold.spec import (
    Activation,
    Float,
    Initializer,
    Layer,
    Precision,
    Size,
    lecun_normal,
    zeros,
)
from mlax_scaffold.specs.nn.linear import Linear


class GLU(Layer):
    """Gated linear unit: y = activation(x W + b) * (x V + c).

    Dauphin et al., 2017, arXiv:1612.08083, and with other activations than the sigmoid
    Shazeer, 2020, arXiv:2002.05202: see ReGLU, GEGLU, SwiGLU. Without weights, on the
    two halves of an axis, it is `F.init(jax.nn.glu)`.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    activation: Activation = jax.nn.sigmoid  #: of the gate
    use_bias: bool = True  #: whether biases are added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer = lecun_normal()  #: of both kernels
    bias_initializer: Initializer = zeros  #: of both biases

    def setup(self):
        sizes = (self.in_features, self.out_features, self.use_bias, self.precision)
        self.gate = Linear(
            *sizes,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
        )
        self.value = Linear(
            *sizes,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=self.bias_initializer,
        )

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        return self.activation(self.gate(x)) * self.value(x)
