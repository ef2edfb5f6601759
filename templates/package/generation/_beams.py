"""Search for the most probable sequence."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .._core import checks
from ..functional import log_softmax
from ._decoder import Decoder
from ._sampling import check_room, tokens_of


def beam_search(
    decoder: Decoder,
    weights: Any,
    cache: Any,
    prompt: jax.Array,
    length: int,
    *,
    beams: int,
    end: int | None = None,
    length_penalty: float = 0.0,
) -> tuple[jax.Array, jax.Array]:
    """The most probable sequences of `length` tokens that beam search finds, best first.

    After each token the `beams` most probable sequences of each prompt stay. With as many
    beams as there are sequences of all tokens but the last, nothing is left out.

    Args:
        decoder: what `of_pair` or `of_module` made, for `beams` rows of each prompt.
        weights: of the model.
        cache: that came with it, empty.
        prompt: integer (prompts, n), with n of at least 1.
        length: number of tokens.
        beams: number of sequences that stay.
        end: the token after which a sequence has no other, and no smaller probability.
        length_penalty: a in score = log probability / ((5 + n) / 6)^a, of n tokens up to
            the end (Wu et al., 2016, arXiv:1609.08144), by which the last ones are ordered.

    Returns:
        `(tokens, scores)`: int32 (prompts, beams, length), int64 where the prompt is, and
        floating (prompts, beams) in the dtype of the logits.

    Raises:
        ValueError: where the rows of the decoder are not those of the prompts and beams,
            or there is no room for so many tokens.
    """
    length = checks.size("beam_search", length=length)
    beams = checks.size("beam_search", beams=beams)
    prompt = tokens_of(prompt)
    if prompt.ndim != 2 or prompt.shape[0] * beams != decoder.rows:
        raise ValueError(
            f"beam_search: {beams} beams of prompts of shape {prompt.shape} need a decoder of "
            f"{prompt.shape[0] * beams if prompt.ndim else beams} rows, got one of {decoder.rows}"
        )
    check_room("beam_search", decoder, prompt.shape, length)
    static = decoder, length, beams, end, float(length_penalty)
    return _search(*static, weights, cache, prompt)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def _search(
    decoder: Decoder,
    length: int,
    beams: int,
    end: int | None,
    length_penalty: float,
    weights: Any,
    cache: Any,
    prompt: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    prompts = prompt.shape[0]
    first_row = jnp.arange(prompts)[:, None] * beams

    def extended(i: Any, logits: Any, scores: Any, tokens: Any) -> Any:
        """The best sequences with one token more, and the rows that they came from."""
        each = log_softmax(logits, axis=-1).reshape(prompts, beams, -1)
        classes = each.shape[-1]
        if end is not None:
            ended = jnp.any(tokens == end, axis=-1)[..., None]
            only_end = jnp.where(jnp.arange(classes) == end, 0.0, -jnp.inf)
            each = jnp.where(ended, only_end.astype(each.dtype), each)
        total = (scores[..., None] + each).reshape(prompts, -1)
        scores, best = lax.top_k(total, beams)
        rows, token = best // classes, (best % classes).astype(tokens.dtype)
        tokens = jnp.take_along_axis(tokens, rows[..., None], axis=1)
        return scores, tokens.at[:, :, i].set(token), (first_row + rows).ravel(), token

    def step(i: Any, carry: Any) -> Any:
        cache, scores, tokens, token = carry
        logits, cache = decoder.step(weights, cache, token.ravel())
        scores, tokens, rows, token = extended(i, logits, scores, tokens)
        return decoder.reorder(cache, rows), scores, tokens, token

    logits, cache = decoder.prefill(weights, cache, jnp.repeat(prompt, beams, axis=0))
    # All rows of a prompt are alike: the first token is one of the first row's.
    alone = jnp.where(jnp.arange(beams) == 0, 0.0, -jnp.inf).astype(logits.dtype)
    scores = jnp.broadcast_to(alone, (prompts, beams))
    tokens = jnp.full((prompts, beams, length), -1, prompt.dtype)
    scores, tokens, _, token = extended(0, logits, scores, tokens)
    carry = cache, scores, tokens, token
    _, scores, tokens, _ = lax.fori_loop(1, length, step, carry)
    if length_penalty != 0.0:
        sizes = jnp.full(scores.shape, length)
        if end is not None:
            ends = tokens == end
            sizes = jnp.where(ends.any(axis=-1), jnp.argmax(ends, axis=-1) + 1, length)
        scores = scores / (((5.0 + sizes) / 6.0) ** length_penalty).astype(scores.dtype)
        order = jnp.argsort(-scores, axis=-1)
        scores = jnp.take_along_axis(scores, order, axis=-1)
        tokens = jnp.take_along_axis(tokens, order[..., None], axis=1)
    return tokens, scores
