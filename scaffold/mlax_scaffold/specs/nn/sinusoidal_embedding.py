import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, Positive, Size, require, sinusoids


class SinusoidalEmbedding(Layer):
    """Adds sines and cosines of the position: y = x + P[position].

    P[p, 2 i] = sin(p / base^(2 i / features)), and P[p, 2 i + 1] the cosine.

    Vaswani et al., 2017, arXiv:1706.03762. Positions are 0, 1, 2 ... unless given.
    """

    features: Size  #: size of the last axis; even
    base: Positive = 10000.0  #: what the wavelengths grow up to, by 2 pi
    interleaved: bool = True  #: whether sines and cosines alternate, else sines first

    def setup(self):
        require(self.features % 2 == 0, "features must be even")

    def forward(
        self,
        x: Float["*batch positions features"],
        *,
        positions: Int["# *batch positions"] | None = None,
    ) -> Float["*batch positions features"]:
        positions = jnp.arange(x.shape[-2]) if positions is None else positions
        waves = sinusoids(x, positions, features=self.features, base=self.base)
        if self.interleaved:
            table = jnp.stack(waves, axis=-1).reshape(*positions.shape, self.features)
        else:
            table = jnp.concatenate(waves, axis=-1)
        return x + table
