import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    Float,
    Initializer,
    Layer,
    PerDim,
    Precision,
    Size,
    reset_carry,
    zeros,
)
from mlax_scaffold.specs.nn.conv import Conv


class ConvLSTMCell(Layer, module="ConvLSTM"):
    """One step of a convolutional long short-term memory: an LSTM over images.

    i, f, g, o = split(conv(x) + conv(h));  c' = sigmoid(f + forget_bias) * c
    + sigmoid(i) * tanh(g);  h' = sigmoid(o) * tanh(c').
    The carry is (c, h), the output is (h', (c', h')).

    Shi et al., 2015, arXiv:1506.04214, without its peepholes, as in flax.

    Where `reset` is True, a sequence begins anew: the carry is zeros before the step.
    """

    spatial_dims: Size  #: number of spatial axes
    in_channels: Size  #: channels of the input
    channels: Size  #: channels of the state
    kernel_size: PerDim[Size]  #: size of both kernels
    channel_last: bool = False  #: whether channels are the last axis, else the second
    use_bias: bool = True  #: whether both convolutions add a bias
    forget_bias: float = 1.0  #: added to the forget gate
    precision: Precision | None = None  #: of the products, see jax.lax.Precision
    kernel_initializer: Initializer | None = None  #: of the kernel of the input
    recurrent_kernel_initializer: Initializer | None = None  #: of that of the state
    bias_initializer: Initializer = zeros  #: of both biases

    def setup(self):
        gates = 4 * self.channels
        rest = {
            "channel_last": self.channel_last,
            "use_bias": self.use_bias,
            "precision": self.precision,
            "bias_initializer": self.bias_initializer,
        }
        sizes = (gates, self.kernel_size)
        self.of_input = Conv(
            self.spatial_dims,
            self.in_channels,
            *sizes,
            **rest,
            kernel_initializer=self.kernel_initializer,
        )
        self.of_state = Conv(
            self.spatial_dims,
            self.channels,
            *sizes,
            **rest,
            kernel_initializer=self.recurrent_kernel_initializer,
        )

    def forward(
        self,
        inputs: Float[
            "batch *spatial in_channels if channel_last else batch in_channels *spatial"
        ],
        carry: tuple[
            Float[
                "batch *spatial channels if channel_last else batch channels *spatial"
            ],
            Float[
                "batch *spatial channels if channel_last else batch channels *spatial"
            ],
        ],
        *,
        reset: Bool["batch"] | None = None,
    ) -> tuple[
        Float["batch *spatial channels if channel_last else batch channels *spatial"],
        tuple[
            Float[
                "batch *spatial channels if channel_last else batch channels *spatial"
            ],
            Float[
                "batch *spatial channels if channel_last else batch channels *spatial"
            ],
        ],
    ]:
        c, h = carry
        if reset is not None:
            c, h = reset_carry(reset, c), reset_carry(reset, h)
        gates = self.of_input(inputs) + self.of_state(h)
        i, f, g, o = jnp.split(gates, 4, axis=-1 if self.channel_last else 1)
        c = lax.logistic(f + self.forget_bias) * c + lax.logistic(i) * jnp.tanh(g)
        h = lax.logistic(o) * jnp.tanh(c)
        return h, (c, h)

    def initial_carry(self, input_shape, dtype):
        """The carry (c, h) before the first step, for inputs of that shape: zeros."""
        batch, *rest = input_shape
        spatial = rest[:-1] if self.channel_last else rest[1:]
        state = (
            (*spatial, self.channels)
            if self.channel_last
            else (self.channels, *spatial)
        )
        return jnp.zeros((batch, *state), dtype), jnp.zeros((batch, *state), dtype)
