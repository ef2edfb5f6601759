from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from mlax_scaffold.spec import (
    Float,
    Int,
    Layer,
    Size,
    logsumexp,
    sum,
    trainable,
    uniform,
)


class Decoded(NamedTuple):
    tags: jax.Array
    score: jax.Array


class CRF(Layer):
    """Linear-chain conditional random field: log-likelihood of tags, and Viterbi decoding.

    Lafferty, McCallum & Pereira, 2001. The partition function is computed by the forward
    algorithm in log space.
    """

    num_tags: Size  #: number of tags

    def setup(self):
        self.start = trainable(uniform(0.1), (self.num_tags,))
        self.end = trainable(uniform(0.1), (self.num_tags,))
        self.transitions = trainable(uniform(0.1), (self.num_tags, self.num_tags))

    def _score(self, emissions, tags):
        steps = jnp.arange(tags.shape[0])
        score = self.start[tags[0]] + self.end[tags[-1]]
        score += sum(emissions[steps, tags])
        return score + sum(self.transitions[tags[:-1], tags[1:]])

    def _log_partition(self, emissions):
        def step(alpha, emission):
            alpha = logsumexp(alpha[:, None] + self.transitions, axis=0) + emission
            return alpha, None

        alpha, _ = lax.scan(step, self.start + emissions[0], emissions[1:])
        return logsumexp(alpha + self.end)

    def forward(
        self, emissions: Float["batch length num_tags"], tags: Int["batch length"]
    ) -> Float["batch"]:
        score = jax.vmap(self._score)(emissions, tags)
        return score - jax.vmap(self._log_partition)(emissions)

    def decode(self, emissions: Float["length num_tags"]) -> Decoded:
        """The best sequence of tags of one sentence."""

        def step(score, emission):
            candidates = score[:, None] + self.transitions
            return candidates.max(axis=0) + emission, candidates.argmax(axis=0)

        score, pointers = lax.scan(step, self.start + emissions[0], emissions[1:])
        score = score + self.end
        last = score.argmax()

        def back(tag, pointer):
            return pointer[tag], tag

        first, rest = lax.scan(back, last, pointers, reverse=True)
        return Decoded(jnp.concatenate([first[None], rest]), score.max())
