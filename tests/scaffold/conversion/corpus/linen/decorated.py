"""A class that `nn.scan` runs over time by a decorator, flax linen."""

import functools

import jax
import jax.numpy as jnp
from flax import linen as nn


class EncoderLSTM(nn.Module):
    features: int

    @functools.partial(
        nn.scan,
        variable_broadcast="params",
        in_axes=1,
        out_axes=1,
        split_rngs={"params": False},
    )
    @nn.compact
    def __call__(self, carry, x):
        return nn.OptimizedLSTMCell(self.features)(carry, x)

    def initialize_carry(self, batch_dims):
        return nn.OptimizedLSTMCell(self.features, parent=None).initialize_carry(
            jax.random.key(0), batch_dims + (self.features,)
        )


class ScannedClassifier(nn.Module):
    """Classifies by the largest of what an LSTM says at all times."""

    vocab_size: int
    embedding_size: int = 16
    hidden_size: int = 12
    num_classes: int = 2

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(self.vocab_size, self.embedding_size, name="embed")(tokens)
        lstm = EncoderLSTM(self.hidden_size, name="encoder")
        initial_state = lstm.initialize_carry(x.shape[:1])
        _, outputs = lstm(initial_state, x)
        return nn.Dense(self.num_classes, name="head")(jnp.max(outputs, axis=1))
