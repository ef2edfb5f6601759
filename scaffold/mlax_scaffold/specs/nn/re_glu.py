import jax

from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.linear import Linear


class ReGLU(Layer):
    """Gated linear unit with a ReLU: y = relu(x W + b) * (x V + c).

    Shazeer, 2020, arXiv:2002.05202, which leaves the biases out.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    use_bias: bool = False  #: whether biases are added

    def setup(self):
        self.gate = Linear(self.in_features, self.out_features, self.use_bias)
        self.value = Linear(self.in_features, self.out_features, self.use_bias)

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        return jax.nn.relu(self.gate(x)) * self.value(x)
