import jax

from mlax_scaffold.spec import Activation, Float, Layer, Size, constant
from mlax_scaffold.specs.nn.linear import Linear


class Highway(Layer):
    """Stack of highway layers: y = T(x) * H(x) + (1 - T(x)) * x.

    Srivastava, Greff & Schmidhuber, 2015, Highway Networks, arXiv:1505.00387. The bias of
    the transform gates starts negative, so that at first everything is carried.
    """

    width: Size  #: size of the last axis
    depth: Size = 2  #: number of layers
    gate_bias: float = -2.0  #: initial bias of the transform gates
    activation: Activation = jax.nn.relu  #: of H

    def setup(self):
        self.layers = [
            {
                "transform": Linear(
                    self.width, self.width, bias_initializer=constant(self.gate_bias)
                ),
                "plain": Linear(self.width, self.width),
            }
            for _ in range(self.depth)
        ]

    def forward(self, x: Float["*batch width"]) -> Float["*batch width"]:
        for layer in self.layers:
            t = jax.nn.sigmoid(layer["transform"](x))
            h = self.activation(layer["plain"](x))
            x = t * h + (1 - t) * x
        return x
