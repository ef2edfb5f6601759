"""A language model of a GRU in nnx."""

import jax
import jax.numpy as jnp
from flax import nnx


class CharGRU(nnx.Module):
    def __init__(self, vocab_size: int, embed_dim: int, hidden: int, rngs: nnx.Rngs):
        self.embed = nnx.Embed(vocab_size, embed_dim, rngs=rngs)
        self.cell = nnx.GRUCell(embed_dim, hidden, rngs=rngs)
        self.out = nnx.Linear(hidden, vocab_size, rngs=rngs)
        self.hidden = hidden

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = self.embed(tokens)
        carry = jnp.zeros((x.shape[0], self.hidden))
        outputs = []
        for t in range(x.shape[1]):
            carry, y = self.cell(carry, x[:, t])
            outputs.append(y)
        y = jnp.stack(outputs, axis=1)
        return self.out(y)
