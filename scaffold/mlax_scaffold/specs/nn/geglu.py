from mlax_scaffold.spec import (
    Float,
    Initializer,
    Layer,
    Precision,
    Size,
    gelu,
    lecun_normal,
    zeros,
)
from mlax_scaffold.specs.nn.linear import Linear


class GEGLU(Layer):
    """Gated linear unit with a GELU: y = gelu(x W + b) * (x V + c).

    Shazeer, 2020, arXiv:2002.05202, which leaves the biases out.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    use_bias: bool = False  #: whether biases are added
    approximate: bool = False  #: whether GELU is approximated by a tanh
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer = lecun_normal()  #: of both kernels
    bias_initializer: Initializer = zeros  #: of both biases

    def setup(self):
        sizes = (self.in_features, self.out_features, self.use_bias, self.precision)
        initializers = {
            "kernel_initializer": self.kernel_initializer,
            "bias_initializer": self.bias_initializer,
        }
        self.gate = Linear(*sizes, **initializers)
        self.value = Linear(*sizes, **initializers)

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        return gelu(self.gate(x), approximate=self.approximate) * self.value(x)
