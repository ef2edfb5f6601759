"""The MNIST VAE of haiku's examples."""

from typing import NamedTuple, Sequence

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np


class Decoder(hk.Module):
    """Decoder model."""

    def __init__(self, output_shape: Sequence[int], hidden_size: int = 64, name=None):
        super().__init__(name=name)
        self.output_shape = output_shape
        self.hidden_size = hidden_size

    def __call__(self, z: jax.Array) -> jax.Array:
        z = hk.Linear(self.hidden_size)(z)
        z = jax.nn.relu(z)
        logits = hk.Linear(np.prod(self.output_shape))(z)
        logits = jnp.reshape(logits, (-1, *self.output_shape))
        return logits
