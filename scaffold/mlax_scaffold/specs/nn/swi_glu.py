import jax

from mlax_scaffold.specs.nn.glu import GLU


class SwiGLU(GLU):
    """Gated linear unit with a Swish: y = swish(x W + b) * (x V + c).

    Shazeer, 2020, arXiv:2002.05202, which leaves the biases out.
    """

    activation = jax.nn.silu
    use_bias: bool = False  #: whether biases are added
