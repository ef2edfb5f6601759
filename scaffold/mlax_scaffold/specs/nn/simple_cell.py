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
    reset_carry,
    spread,
    trainable,
    zeros,
)


class SimpleCell(Layer, module="SimpleRNN", aliases={"features": "hidden_size"}):
    """One step of a vanilla recurrent network: h' = tanh(x W + h U + b).

    The carry is h, the output is (h', h').

    Elman, 1990, Cognitive Science 14(2).

    Where `reset` is True, a sequence begins anew: the carry is zeros before the step.
    """

    in_features: Size  #: size of the last axis of the input
    features: Size  #: size of the state
    activation: Activation = jnp.tanh  #: of the new state
    residual: bool = False  #: whether the old state is added before the activation
    use_bias: bool = True  #: whether a bias is added
    precision: Precision | None = None  #: of the products, see jax.lax.Precision

    def setup(self):
        self.kernel = trainable(lecun_normal(), (self.in_features, self.features))
        self.recurrent_kernel = trainable(orthogonal(), (self.features, self.features))
        self.bias = trainable(zeros, (self.features,)) if self.use_bias else None

    def forward(
        self,
        inputs: Float["*batch in_features"],
        carry: Float["*batch features"],
        *,
        reset: Bool["*batch"] | None = None,
    ) -> tuple[Float["*batch features"], Float["*batch features"]]:
        if reset is not None:
            carry = reset_carry(reset, carry)
        h = inputs.dot(self.kernel, precision=self.precision)
        h = h if self.bias is None else h + spread(self.bias, h.shape)
        h = h + carry.dot(self.recurrent_kernel, precision=self.precision)
        h = self.activation(h + carry if self.residual else h)
        return h, h

    def initial_carry(self, input_shape, dtype):
        """The carry before the first step, for inputs of that shape: zeros."""
        return jnp.zeros((*input_shape[:-1], self.features), dtype)
