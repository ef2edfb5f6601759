"""Lafferty, McCallum & Pereira, 2001, by listing all sequences of tags."""

import itertools

import numpy as np

from .common import logsumexp


def _scores(emissions, start, end, transitions):
    length, count = emissions.shape
    return {
        tags: start[tags[0]]
        + end[tags[-1]]
        + sum(emissions[t, tag] for t, tag in enumerate(tags))
        + sum(transitions[a, b] for a, b in itertools.pairwise(tags))
        for tags in itertools.product(range(count), repeat=length)
    }


def crf(emissions, tags, start, end, transitions):
    """Log-likelihood of the tags of one sentence, (length, tags)."""
    scores = _scores(emissions, start, end, transitions)
    return scores[tuple(int(t) for t in tags)] - logsumexp(
        np.array(list(scores.values()))
    )


def decode(emissions, start, end, transitions):
    """The best tags, and their score."""
    scores = _scores(emissions, start, end, transitions)
    return max(scores.items(), key=lambda item: item[1])
