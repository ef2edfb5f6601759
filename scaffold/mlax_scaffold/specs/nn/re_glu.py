import jax

from mlax_scaffold.specs.nn.glu import GLU


class ReGLU(GLU):
    """Gated linear unit with a ReLU: y = relu(x W + b) * (x V + c).

    Shazeer, 2020, arXiv:2002.05202, which leaves the biases out.
    """

    activation = jax.nn.relu
    use_bias: bool = False  #: whether biases are added
