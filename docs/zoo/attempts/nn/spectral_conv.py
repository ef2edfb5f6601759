import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, trainable


def complex_uniform(scale):
    """Real and imaginary parts uniform between 0 and `scale`."""

    def init(key, shape, dtype=jnp.complex64):
        real, imag = jax.random.split(key)
        return scale * (
            jax.random.uniform(real, shape) + 1j * jax.random.uniform(imag, shape)
        )

    return init


class SpectralConv2d(Layer):
    """Fourier layer of a Fourier neural operator in two dimensions.

    y = irfft2(R * rfft2(x)), where the complex R mixes the channels of the lowest modes
    and the other modes are dropped.

    Li et al., 2021, Fourier Neural Operator for Parametric Partial Differential
    Equations, arXiv:2010.08895.
    """

    in_channels: Size  #: channels of the input
    out_channels: Size  #: channels of the output
    modes1: Size = 12  #: number of modes kept along the first axis, of either sign
    modes2: Size = 12  #: number of modes kept along the second axis

    def setup(self):
        scale = 1 / (self.in_channels * self.out_channels)
        shape = (self.in_channels, self.out_channels, self.modes1, self.modes2)
        self.weights1 = trainable(complex_uniform(scale), shape)
        self.weights2 = trainable(complex_uniform(scale), shape)

    def forward(
        self, x: Float["batch in_channels height width"]
    ) -> Float["batch out_channels height width"]:
        batch, _, height, width = x.shape
        if 2 * self.modes1 > height or self.modes2 > width // 2 + 1:
            raise ValueError(
                f"a grid of {height} x {width} has too few modes: "
                f"modes1={self.modes1}, modes2={self.modes2}"
            )
        x_ft = jnp.fft.rfft2(x)
        out_ft = jnp.zeros(
            (batch, self.out_channels, height, width // 2 + 1), jnp.complex64
        )
        m1, m2 = self.modes1, self.modes2
        low = jnp.einsum("bixy,ioxy->boxy", x_ft[:, :, :m1, :m2], self.weights1)
        high = jnp.einsum("bixy,ioxy->boxy", x_ft[:, :, -m1:, :m2], self.weights2)
        out_ft = out_ft.at[:, :, :m1, :m2].set(low)
        out_ft = out_ft.at[:, :, -m1:, :m2].set(high)
        return jnp.fft.irfft2(out_ft, s=(height, width))
