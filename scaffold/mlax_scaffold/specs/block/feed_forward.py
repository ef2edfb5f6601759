from mlax_scaffold.spec import (
    Activation,
    Float,
    Initializer,
    Layer,
    Precision,
    Probability,
    Size,
    gelu,
    lecun_normal,
    zeros,
)
from mlax_scaffold.specs.nn.dropout import Dropout
from mlax_scaffold.specs.nn.linear import Linear


class FeedForward(Layer):
    """The position-wise network of a transformer: activation(x W1 + b1) W2 + b2.

    Vaswani et al., 2017, arXiv:1706.03762.
    """

    features: Size  #: size of the last axis of the input and of the output
    hidden_features: Size  #: size between the two maps
    activation: Activation = gelu  #: between the two maps
    dropout_rate: Probability = 0.0  #: after the activation, in training
    use_bias: bool = True  #: whether the maps add a bias
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer = lecun_normal()  #: of the kernels
    bias_initializer: Initializer = zeros  #: of the biases

    def setup(self):
        options = {
            "use_bias": self.use_bias,
            "precision": self.precision,
            "kernel_initializer": self.kernel_initializer,
            "bias_initializer": self.bias_initializer,
        }
        self.widen = Linear(self.features, self.hidden_features, **options)
        self.dropout = Dropout(self.dropout_rate)
        self.narrow = Linear(self.hidden_features, self.features, **options)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return self.narrow(self.dropout(self.activation(self.widen(x))))
