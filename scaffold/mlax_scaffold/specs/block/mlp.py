import jax

from mlax_scaffold.spec import (
    Activation,
    Float,
    Initializer,
    Layer,
    Precision,
    Probability,
    Size,
    Sizes,
    lecun_normal,
    zeros,
)
from mlax_scaffold.specs.nn.dropout import Dropout
from mlax_scaffold.specs.nn.linear import Linear


class MLP(Layer):
    """Multi-layer perceptron: x = dropout(activation(x W + b)) for each hidden layer.

    The map to the output has no dropout, and an activation of its own, if any.

    Rumelhart, Hinton & Williams, 1986, Nature 323.
    """

    in_features: Size  #: size of the last axis of the input
    out_features: Size  #: size of the last axis of the output
    hidden: Sizes  #: sizes of the hidden layers, in order
    activation: Activation = jax.nn.relu  #: of the hidden layers
    final_activation: Activation | None = None  #: of the output; None: none
    dropout_rate: Probability = 0.0  #: after each hidden layer, in training
    use_bias: bool = True  #: whether the maps add a bias
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer = lecun_normal()  #: of the kernels
    bias_initializer: Initializer = zeros  #: of the biases

    def setup(self):
        sizes = (self.in_features, *self.hidden)
        options = {
            "use_bias": self.use_bias,
            "precision": self.precision,
            "kernel_initializer": self.kernel_initializer,
            "bias_initializer": self.bias_initializer,
        }
        self.layers = [
            Linear(a, b, **options) for a, b in zip(sizes, self.hidden, strict=False)
        ]
        self.dropouts = [Dropout(self.dropout_rate) for _ in self.hidden]
        self.output = Linear(sizes[-1], self.out_features, **options)

    def forward(self, x: Float["*batch in_features"]) -> Float["*batch out_features"]:
        for layer, dropout in zip(self.layers, self.dropouts, strict=True):
            x = dropout(self.activation(layer(x)))
        y = self.output(x)
        return y if self.final_activation is None else self.final_activation(y)
