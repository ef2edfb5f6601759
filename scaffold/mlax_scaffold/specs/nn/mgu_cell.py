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
    ones,
    orthogonal,
    per_gate,
    reset_carry,
    spread,
    trainable,
    zeros,
)


class MGUCell(Layer, module="MGU", aliases={"features": "hidden_size"}):
    """One step of a minimal gated unit: a GRU whose one gate forgets and resets.

    f = sigmoid(x W + h U + b);  n = tanh(x W' + b' + f * (h U' + b''));
    h' = (1 - f) * n + f * h.  The carry is h, the output is (h', h').

    Zhou et al., 2016, arXiv:1603.09420; and without `reset_gate`, where n is
    tanh(x W' + b' + h U'), Heck & Salem, 2017, arXiv:1701.03452.

    Where `reset` is True, a sequence begins anew: the carry is zeros before the step.
    """

    in_features: Size  #: size of the last axis of the input
    features: Size  #: size of the state
    reset_gate: bool = True  #: whether the gate also resets the candidate's state
    activation: Activation = jnp.tanh  #: of the candidate
    gate_activation: Activation = jax.nn.sigmoid  #: of the gate
    use_bias: bool = True  #: whether biases are added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        size = self.features
        self.kernel = trainable(lecun_normal(), (self.in_features, 2 * size))
        self.recurrent_kernel = trainable(per_gate(orthogonal(), 2), (size, 2 * size))
        self.forget_bias = trainable(ones, (size,)) if self.use_bias else None
        self.bias = trainable(zeros, (size,)) if self.use_bias else None
        self.recurrent_bias = (
            trainable(zeros, (size,)) if self.reset_gate and self.use_bias else None
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
        h = carry.dot(self.recurrent_kernel, precision=self.precision)
        (x_f, x_n), (h_f, n) = jnp.split(x, 2, -1), jnp.split(h, 2, -1)
        f = x_f + h_f
        f = f if self.forget_bias is None else f + spread(self.forget_bias, f.shape)
        f = self.gate_activation(f)
        if self.recurrent_bias is not None:
            n = n + spread(self.recurrent_bias, n.shape)
        n = f * n if self.reset_gate else n
        x_n = x_n if self.bias is None else x_n + spread(self.bias, x_n.shape)
        n = self.activation(x_n + n)
        h = (1.0 - f) * n + f * carry
        return h, h

    def initial_carry(self, input_shape, dtype):
        """The carry before the first step, for inputs of that shape: zeros."""
        return jnp.zeros((*input_shape[:-1], self.features), dtype)
