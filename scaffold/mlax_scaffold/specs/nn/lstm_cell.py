import jax
import jax.numpy as jnp

from mlax_scaffold.spec import (
    Activation,
    Bool,
    Float,
    Layer,
    Precision,
    Size,
    lecun_normal,
    orthogonal,
    per_gate,
    reset_carry,
    spread,
    trainable,
    zeros,
)


class LSTMCell(Layer, module="LSTM", aliases={"features": "hidden_size"}):
    """One step of a long short-term memory.

    i, f, g, o = split(x W + h U + b);
    c' = sigmoid(f) * c + sigmoid(i) * tanh(g);  h' = sigmoid(o) * tanh(c').
    The carry is (c, h), the output is (h', (c', h')).

    Hochreiter & Schmidhuber, 1997, Neural Computation 9(8); forget gate: Gers et al.,
    2000. All gates are one product, as in what flax calls OptimizedLSTMCell.

    Where `reset` is True, a sequence begins anew: the carry is zeros before the step.
    """

    in_features: Size  #: size of the last axis of the input
    features: Size  #: size of the state
    activation: Activation = jnp.tanh  #: of the candidate and of the output
    gate_activation: Activation = jax.nn.sigmoid  #: of the gates
    forget_bias: float = 0.0  #: added to the forget gate; 1 keeps memory at first
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        gates = 4 * self.features
        self.kernel = trainable(lecun_normal(), (self.in_features, gates))
        self.recurrent_kernel = trainable(
            per_gate(orthogonal(), 4), (self.features, gates)
        )
        self.bias = trainable(zeros, (gates,)) if self.use_bias else None

    def forward(
        self,
        inputs: Float["*batch in_features"],
        carry: tuple[Float["*batch features"], Float["*batch features"]],
        *,
        reset: Bool["*batch"] | None = None,
    ) -> tuple[
        Float["*batch features"],
        tuple[Float["*batch features"], Float["*batch features"]],
    ]:
        c, h = carry
        if reset is not None:
            c, h = reset_carry(reset, c), reset_carry(reset, h)
        gates = inputs.dot(self.kernel, precision=self.precision)
        gates = gates + h.dot(self.recurrent_kernel, precision=self.precision)
        gates = gates if self.bias is None else gates + spread(self.bias, gates.shape)
        i, f, g, o = jnp.split(gates, 4, axis=-1)
        i, f, o = map(self.gate_activation, (i, f + self.forget_bias, o))
        c = f * c + i * self.activation(g)
        h = o * self.activation(c)
        return h, (c, h)

    def initial_carry(self, input_shape, dtype):
        """The carry (c, h) before the first step, for inputs of that shape: zeros."""
        shape = (*input_shape[:-1], self.features)
        return jnp.zeros(shape, dtype), jnp.zeros(shape, dtype)
