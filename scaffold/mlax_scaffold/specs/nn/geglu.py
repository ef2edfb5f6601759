from mlax_scaffold.spec import Float, Layer, Size, gelu
from mlax_scaffold.specs.nn.linear import Linear


class GEGLU(Layer):
    """Gated linear unit with a GELU: y = gelu(x W + b) * (x V + c).

    Shazeer, 2020, arXiv:2002.05202, which leaves the biases out.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    use_bias: bool = False  #: whether biases are added
    approximate: bool = False  #: whether GELU is approximated by a tanh

    def setup(self):
        self.gate = Linear(self.in_features, self.out_features, self.use_bias)
        self.value = Linear(self.in_features, self.out_features, self.use_bias)

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        return gelu(self.gate(x), approximate=self.approximate) * self.value(x)
