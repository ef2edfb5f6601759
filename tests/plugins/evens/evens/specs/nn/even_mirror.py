"""A layer with two halves."""

import jax.numpy as jnp
from evens.words import Even

from mlax_scaffold.spec import Float, Layer, ones, trainable


class EvenMirror(Layer):
    """Sum of the last axis and its mirror image, times a weight for each pair."""

    features: Even  #: size of the last axis

    def setup(self):
        self.scale = trainable(ones, (self.features // 2,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        scale = self.scale  # cast once, for both halves
        scale = jnp.concatenate([scale, jnp.flip(scale)])
        return (x + jnp.flip(x, -1)) * scale
