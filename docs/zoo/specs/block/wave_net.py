import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size
from mlax_scaffold.specs.nn.conv import Conv


class ResidualBlock(Layer):
    """Gated dilated causal convolution; returns the residual and the skip output."""

    channels: Size
    skip_channels: Size
    kernel_size: Size
    dilation: Size

    def setup(self):
        dilated = dict(
            kernel_size=self.kernel_size,
            dilation=self.dilation,
            padding="CAUSAL",
            channel_last=True,
        )
        self.filter = Conv(1, self.channels, self.channels, **dilated)
        self.gate = Conv(1, self.channels, self.channels, **dilated)
        self.residual = Conv(1, self.channels, self.channels, 1, channel_last=True)
        self.skip = Conv(1, self.channels, self.skip_channels, 1, channel_last=True)

    def forward(self, x: Float["batch time channels"]):
        z = jnp.tanh(self.filter(x)) * jax.nn.sigmoid(self.gate(x))
        return x + self.residual(z), self.skip(z)


class WaveNet(Layer):
    """Stack of residual blocks with dilations 1, 2, 4, ..., repeated a few times.

    van den Oord et al., 2016, WaveNet: A Generative Model for Raw Audio, arXiv:1609.03499.
    """

    in_channels: Size  #: channels of the input
    out_channels: Size  #: channels of the output
    channels: Size = 32  #: channels of the residual path
    skip_channels: Size = 64  #: channels of the skip connections
    kernel_size: Size = 2  #: of the dilated convolutions
    dilation_cycle: Size = 10  #: dilations go up to 2 ** (dilation_cycle - 1)
    repeats: Size = 3  #: how often the cycle is repeated

    def setup(self):
        self.inp = Conv(1, self.in_channels, self.channels, 1, channel_last=True)
        self.blocks = [
            ResidualBlock(self.channels, self.skip_channels, self.kernel_size, 2**i)
            for _ in range(self.repeats)
            for i in range(self.dilation_cycle)
        ]
        self.out1 = Conv(1, self.skip_channels, self.skip_channels, 1, channel_last=True)
        self.out2 = Conv(1, self.skip_channels, self.out_channels, 1, channel_last=True)

    @property
    def receptive_field(self):
        """Number of samples that an output depends on."""
        dilations = sum(2**i for i in range(self.dilation_cycle)) * self.repeats
        return (self.kernel_size - 1) * dilations + 1

    def forward(self, x: Float["batch time in_channels"]) -> Float["batch time out_channels"]:
        x = self.inp(x)
        skips = 0
        for block in self.blocks:
            x, skip = block(x)
            skips += skip
        return self.out2(jax.nn.relu(self.out1(jax.nn.relu(skips))))
