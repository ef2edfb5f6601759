from mlax_scaffold.spec import gelu
from mlax_scaffold.specs.nn.glu import GLU


class GEGLU(GLU):
    """Gated linear unit with a GELU: y = gelu(x W + b) * (x V + c).

    Shazeer, 2020, arXiv:2002.05202, which leaves the biases out.
    """

    use_bias: bool = False  #: whether biases are added
    approximate: bool = False  #: whether GELU is approximated by a tanh

    def activation(self, x):
        return gelu(x, approximate=self.approximate)
