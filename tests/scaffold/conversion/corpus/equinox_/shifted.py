"""A decoder that is taught by the words before."""

import equinox as eqx
import jax
import jax.numpy as jnp


class TaughtDecoder(eqx.Module):
    """Predicts each word of one sentence from those before it."""

    embed: eqx.nn.Embedding
    cell: eqx.nn.GRUCell
    readout: eqx.nn.Linear
    first: int = eqx.field(static=True)

    def __init__(self, vocabulary: int = 11, hidden: int = 6, first: int = 1, *, key):
        a, b, c = jax.random.split(key, 3)
        self.embed = eqx.nn.Embedding(vocabulary, hidden, key=a)
        self.cell = eqx.nn.GRUCell(hidden, hidden, key=b)
        self.readout = eqx.nn.Linear(hidden, vocabulary, key=c)
        self.first = first

    def __call__(self, words):
        before = jnp.concatenate([jnp.array([self.first]), words[:-1]])
        inputs = jax.vmap(self.embed)(before)

        def step(h, x):
            h = self.cell(x, h)
            return h, self.readout(h)

        _, logits = jax.lax.scan(step, jnp.zeros((inputs.shape[-1],)), inputs)
        return logits
