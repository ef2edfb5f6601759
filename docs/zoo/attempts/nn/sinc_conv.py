import jax.numpy as jnp
import numpy as np
from jax import lax

from mlax_scaffold.spec import Float, Layer, Positive, Size, require, trainable


def mel(hz):
    return 2595 * np.log10(1 + hz / 700)


def hz(mel):
    return 700 * (10 ** (mel / 2595) - 1)


class SincConv(Layer):
    """Convolution of a waveform with band-pass filters that are two numbers each

    A filter is the difference of two low-pass filters 2 f sinc(2 f t), times a Hamming
    window. The cutoffs are learned and start evenly spaced on the mel scale.

    Ravanelli & Bengio, 2018, Speaker Recognition from Raw Waveform with SincNet,
    arXiv:1808.00158.
    """

    filters: Size  #: number of filters
    kernel_size: Size = 251  #: odd
    sample_rate: Positive = 16000.0  #: of the waveform, in Hz
    min_low: Positive = 50.0  #: lowest cutoff, in Hz
    min_band: Positive = 50.0  #: narrowest band, in Hz

    def setup(self):
        require(self.kernel_size % 2 == 1, "kernel_size must be odd")
        high = self.sample_rate / 2 - (self.min_low + self.min_band)
        edges = hz(np.linspace(mel(30.0), mel(high), self.filters + 1))
        self.low_hz = trainable(lambda k, s, d: jnp.asarray(edges[:-1], d), (self.filters,))
        self.band_hz = trainable(
            lambda k, s, d: jnp.asarray(np.diff(edges), d), (self.filters,)
        )
        half = self.kernel_size // 2
        self.t = np.arange(-half, half + 1) / self.sample_rate
        self.window = np.hamming(self.kernel_size)

    def _low_pass(self, f):
        return 2 * f[:, None] * jnp.sinc(2 * f[:, None] * self.t)

    def forward(self, wave: Float["batch time"]) -> Float["batch new_time filters"]:
        low = self.min_low + jnp.abs(self.low_hz)
        high = jnp.clip(low + self.min_band + jnp.abs(self.band_hz), self.min_low, self.sample_rate / 2)
        kernels = (self._low_pass(high) - self._low_pass(low)) * self.window
        kernels = kernels / (2 * (high - low)[:, None])
        return lax.conv_general_dilated(
            wave[:, :, None],
            kernels.T[:, None, :],
            window_strides=(1,),
            padding="VALID",
            dimension_numbers=("NWC", "WIO", "NWC"),
        )
