import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Bool,
    Float,
    Initializer,
    Layer,
    Padding,
    PerDim,
    Precision,
    Size,
    explicit_padding,
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

    `strides` and `padding` are those of conv(x), whose spatial axes the state has. Of
    conv(h) strides are 1 and the padding is "SAME", so that a step keeps the carry's
    shape (in flax both convolutions have them).

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
    strides: PerDim[Size] = 1  #: steps from window to window of the input
    padding: Padding = "SAME"  #: of the input
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
            strides=self.strides,
            padding=self.padding,
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
                "batch *out_spatial channels if channel_last else batch channels *out_spatial"
            ],
            Float[
                "batch *out_spatial channels if channel_last else batch channels *out_spatial"
            ],
        ],
        *,
        reset: Bool["batch"] | None = None,
    ) -> tuple[
        Float[
            "batch *out_spatial channels if channel_last else batch channels *out_spatial"
        ],
        tuple[
            Float[
                "batch *out_spatial channels if channel_last else batch channels *out_spatial"
            ],
            Float[
                "batch *out_spatial channels if channel_last else batch channels *out_spatial"
            ],
        ],
    ]:
        c, h = carry
        if reset is not None:
            c, h = reset_carry(reset, c), reset_carry(reset, h)
        gates = self.of_input(inputs)
        change = self.of_state(h)
        if gates.shape != change.shape:
            raise ValueError(
                "the carry must have the spatial sizes that initial_carry gives it for the "
                f"inputs: they have the shape {inputs.shape}, the carry {h.shape}"
            )
        gates = gates + change
        i, f, g, o = jnp.split(gates, 4, axis=-1 if self.channel_last else 1)
        c = lax.logistic(f + self.forget_bias) * c + lax.logistic(i) * jnp.tanh(g)
        h = lax.logistic(o) * jnp.tanh(c)
        return h, (c, h)

    def initial_carry(self, input_shape, dtype):
        """The carry (c, h) before the first step, for inputs of that shape: zeros."""
        batch, *rest = input_shape
        sizes = rest[:-1] if self.channel_last else rest[1:]
        window, strides = self.kernel_size, self.strides
        pairs = explicit_padding(self.padding, sizes, window, strides)
        spatial = [
            max((n + low + high - k) // s + 1, 0)
            for n, k, s, (low, high) in zip(sizes, window, strides, pairs, strict=True)
        ]
        state = (
            (*spatial, self.channels)
            if self.channel_last
            else (self.channels, *spatial)
        )
        return jnp.zeros((batch, *state), dtype), jnp.zeros((batch, *state), dtype)
