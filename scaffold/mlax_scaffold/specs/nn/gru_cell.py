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


class GRUCell(Layer, module="GRU", aliases={"features": "hidden_size"}):
    """One step of a gated recurrent unit.

    r, z = sigmoid(x W + h U + b);  h' = (1 - z) * n + z * h, with the candidate
    n = tanh(x W + b + r * (h U + b')), and without `reset_after`
    n = tanh(x W + b + (r * h) U).  The carry is h, the output is (h', h').

    Cho et al., 2014, arXiv:1406.1078, resets the state before the product; most
    libraries reset after it, as cuDNN does.

    Where `reset` is True, a sequence begins anew: the carry is zeros before the step.
    """

    in_features: Size  #: size of the last axis of the input
    features: Size  #: size of the state
    reset_after: bool = True  #: whether the state is reset after its product
    activation: Activation = jnp.tanh  #: of the candidate
    gate_activation: Activation = jax.nn.sigmoid  #: of the gates
    use_bias: bool = True  #: whether biases are added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        size = self.features
        self.kernel = trainable(lecun_normal(), (self.in_features, 3 * size))
        self.recurrent_kernel = trainable(per_gate(orthogonal(), 3), (size, 3 * size))
        self.bias = trainable(zeros, (3 * size,)) if self.use_bias else None
        self.recurrent_bias = (
            trainable(zeros, (size,)) if self.reset_after and self.use_bias else None
        )

    def forward(
        self,
        inputs: Float["*batch in_features"],
        carry: Float["*batch features"],
        *,
        reset: Bool["*batch"] | None = None,
    ) -> tuple[Float["*batch features"], Float["*batch features"]]:
        if reset is not None:
            carry = reset_carry(reset, carry)
        x = inputs.dot(self.kernel, precision=self.precision)
        x = x if self.bias is None else x + spread(self.bias, x.shape)
        x_gates, x_n = jnp.split(x, [2 * self.features], -1)
        to_gates, to_n = jnp.split(self.recurrent_kernel, [2 * self.features], -1)
        gates = x_gates + carry.dot(to_gates, precision=self.precision)
        r, z = jnp.split(self.gate_activation(gates), 2, -1)
        if self.reset_after:
            n = carry.dot(to_n, precision=self.precision)
            n = r * (
                n
                if self.recurrent_bias is None
                else n + spread(self.recurrent_bias, n.shape)
            )
        else:
            n = (r * carry).dot(to_n, precision=self.precision)
        n = self.activation(x_n + n)
        h = (1.0 - z) * n + z * carry
        return h, h

    def initial_carry(self, input_shape, dtype):
        """The carry before the first step, for inputs of that shape: zeros."""
        return jnp.zeros((*input_shape[:-1], self.features), dtype)
