import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Activation,
    Float,
    Layer,
    Precision,
    Size,
    lecun_normal,
    orthogonal,
    per_gate,
    trainable,
    zeros,
)


class LSTMCell(Layer, module="LSTM", aliases={"features": "hidden_size"}):
    """One step of a long short-term memory.

    i, f, g, o = split(x W + h U + b);
    c' = sigmoid(f) * c + sigmoid(i) * tanh(g);  h' = sigmoid(o) * tanh(c').
    The carry is (c, h), the output is (h', (c', h')).

    Hochreiter & Schmidhuber, 1997, Neural Computation 9(8), with the forget gate of
    Gers et al., 2000. The four gates are one product each for the input and the state.
    """

    in_features: Size  #: size of the last axis of the input
    features: Size  #: size of the state
    activation: Activation = jnp.tanh  #: of the candidate and of the output
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        gates = 4 * self.features
        self.kernel = trainable(lecun_normal(), (self.in_features, gates))
        self.recurrent_kernel = trainable(
            per_gate(orthogonal(), 4), (self.features, gates)
        )
        self.bias = trainable(zeros, (gates,))

    def forward(
        self,
        inputs: Float["*batch in_features"],
        carry: tuple[Float["*batch features"], Float["*batch features"]],
    ) -> tuple[
        Float["*batch features"],
        tuple[Float["*batch features"], Float["*batch features"]],
    ]:
        c, h = carry
        gates = inputs.dot(self.kernel, precision=self.precision)
        gates = gates + h.dot(self.recurrent_kernel, precision=self.precision)
        i, f, g, o = jnp.split(gates + self.bias, 4, axis=-1)
        c = lax.logistic(f) * c + lax.logistic(i) * self.activation(g)
        h = lax.logistic(o) * self.activation(c)
        return h, (c, h)

    def initial_carry(self, batch_shape, dtype):
        """The carry (c, h) before the first step: zeros."""
        shape = (*batch_shape, self.features)
        return jnp.zeros(shape, dtype), jnp.zeros(shape, dtype)
