"""Gated causal convolutions, haiku."""

import haiku as hk
import jax
import jax.numpy as jnp


class GatedBlock(hk.Module):
    """A gated dilated convolution with a residual and a skip."""

    def __init__(self, channels, skip_channels, kernel_size, dilation, name=None):
        super().__init__(name=name)
        self._channels = channels
        self._skip_channels = skip_channels
        self._kernel_size = kernel_size
        self._dilation = dilation

    def __call__(self, x):
        h = hk.Conv1D(
            2 * self._channels,
            self._kernel_size,
            rate=self._dilation,
            padding=hk.pad.causal,
            name="conv",
        )(x)
        filt, gate = jnp.split(h, 2, axis=-1)
        h = jnp.tanh(filt) * jax.nn.sigmoid(gate)
        skip = hk.Conv1D(self._skip_channels, 1, name="skip")(h)
        residual = hk.Conv1D(self._channels, 1, name="residual")(h)
        return x + residual, skip
