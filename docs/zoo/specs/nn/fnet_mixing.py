import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer


class FNetMixing(Layer):
    """Mixes tokens by the real part of a Fourier transform over length and features.

    Lee-Thorp et al., 2022, FNet: Mixing Tokens with Fourier Transforms, arXiv:2105.03824.
    """

    def forward(self, x: Float["*batch length features"]) -> Float["*batch length features"]:
        return jnp.fft.fft(jnp.fft.fft(x, axis=-1), axis=-2).real
