import jax

from mlax_scaffold.spec import (
    Activation,
    Float,
    Layer,
    Precision,
    Probability,
    Size,
)
from mlax_scaffold.specs.nn.dropout import Dropout
from mlax_scaffold.specs.nn.linear import Linear


class FeedForward(Layer):
    """The position-wise network of a transformer: activation(x W1 + b1) W2 + b2.

    Vaswani et al., 2017, arXiv:1706.03762.
    """

    features: Size  #: size of the last axis of the input and of the output
    hidden_features: Size  #: size between the two maps
    activation: Activation = jax.nn.gelu  #: between the two maps
    dropout_rate: Probability = 0.0  #: after the activation, in training
    use_bias: bool = True  #: whether the maps add a bias
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        options = (self.use_bias, self.precision)
        self.widen = Linear(self.features, self.hidden_features, *options)
        self.dropout = Dropout(self.dropout_rate)
        self.narrow = Linear(self.hidden_features, self.features, *options)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return self.narrow(self.dropout(self.activation(self.widen(x))))
