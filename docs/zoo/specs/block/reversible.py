import jax.numpy as jnp

from mlax_scaffold.spec import Block, Float, SubLayers


class Reversible(Block):
    """Stack of reversible residual units: y1 = x1 + F(x2), y2 = x2 + G(y1).

    The input is split into halves along the last axis.

    Gomez et al., 2017, The Reversible Residual Network, arXiv:1707.04585.
    """

    fs: SubLayers  #: F of each unit; maps half of the features
    gs: SubLayers  #: G of each unit

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        x1, x2 = jnp.split(x, 2, axis=-1)
        for f, g in zip(self.fs, self.gs):
            x1 = x1 + f(x2)
            x2 = x2 + g(x1)
        return jnp.concatenate([x1, x2], axis=-1)

    def inverse(self, y: Float["*batch features"]) -> Float["*batch features"]:
        """The input that has this output."""
        y1, y2 = jnp.split(y, 2, axis=-1)
        for f, g in zip(reversed(self.fs), reversed(self.gs)):
            y2 = y2 - g(y1)
            y1 = y1 - f(y2)
        return jnp.concatenate([y1, y2], axis=-1)
