import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Probability, Size, normal, ones, require
from mlax_scaffold.specs.nn.drop_path import DropPath
from mlax_scaffold.specs.nn.layer_norm import LayerNorm
from mlax_scaffold.specs.nn.linear import Linear


class GMLPBlock(Layer):
    """Block of gMLP: tokens are mixed by a gate that is linear along the length

    Liu et al., 2021, Pay Attention to MLPs, arXiv:2105.08050.
    """

    features: Size  #: size of the last axis
    hidden: Size  #: size within the block; even
    length: Size  #: number of tokens
    drop_rate: Probability = 0.0  #: stochastic depth

    def setup(self):
        require(self.hidden % 2 == 0, "hidden must be even")
        self.norm = LayerNorm(self.features)
        self.proj_in = Linear(self.features, self.hidden)
        self.gate_norm = LayerNorm(self.hidden // 2)
        # Near zero, and bias one: at first the gate does nothing.
        self.spatial = Linear(
            self.length, self.length, kernel_initializer=normal(1e-6), bias_initializer=ones
        )
        self.proj_out = Linear(self.hidden // 2, self.features)
        self.drop_path = DropPath(self.drop_rate)

    def spatial_gating_unit(self, x):
        u, v = jnp.split(x, 2, axis=-1)
        v = self.spatial(self.gate_norm(v).swapaxes(-1, -2)).swapaxes(-1, -2)
        return u * v

    def forward(self, x: Float["batch length features"]) -> Float["batch length features"]:
        shortcut = x
        x = jax.nn.gelu(self.proj_in(self.norm(x)))
        x = self.proj_out(self.spatial_gating_unit(x))
        return shortcut + self.drop_path(x)
