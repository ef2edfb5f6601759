"""The loop that chooses one token after another."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .._core import checks
from ._decoder import Decoder
from ._samplers import Sampler

_GREEDY = Sampler(temperature=0.0)


def generate(
    decoder: Decoder,
    weights: Any,
    cache: Any,
    prompt: jax.Array,
    length: int,
    key: Any = None,
    *,
    choose: Callable[..., jax.Array] = _GREEDY,
    end: int | None = None,
) -> tuple[jax.Array, Any]:
    """`length` tokens that follow a prompt, chosen one after another in a compiled loop.

        tokens, cache = generate(
            decoder, weights, cache, prompt, 32, key, choose=Sampler(top_p=0.9)
        )

    It is compiled once for each decoder, shape of the prompt, length and `choose`, and
    stops where all rows have ended.

    Args:
        decoder: what `of_pair` or `of_module` made.
        weights: of the model.
        cache: with what came before the prompt.
        prompt: integer (rows, n), with n of at least 1.
        length: number of tokens.
        key: PRNG key, of which each token gets one; None: `choose` gets None.
        choose: a hashable function (logits, key, tokens) -> token, such as a `Sampler`;
            tokens are those of the prompt and after it, and -1 where there is none yet.
        end: the token after which a row has no other.

    Returns:
        `(tokens, cache)`: int32 (rows, length), int64 where the prompt is, and the cache
        with all but the last of them.

    Raises:
        ValueError: where there is no room for so many, or the prompt does not fit.
    """
    length = checks.size("generate", length=length)
    prompt = tokens_of(prompt)
    check_room("generate", decoder, prompt.shape, length)
    return _generate(decoder, choose, length, end, weights, cache, prompt, key)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _generate(
    decoder: Decoder,
    choose: Any,
    length: int,
    end: int | None,
    weights: Any,
    cache: Any,
    prompt: jax.Array,
    key: Any,
) -> tuple[jax.Array, Any]:
    rows, before = prompt.shape
    known = (
        jnp.full((rows, before + length), -1, prompt.dtype).at[:, :before].set(prompt)
    )
    keys = None if key is None else jax.random.split(key, length)
    ended = jnp.zeros(rows, bool)

    def chosen(i: Any, logits: Any, known: Any, ended: Any) -> tuple[Any, Any, Any]:
        token = choose(logits, None if keys is None else keys[i], known)
        token = token.astype(prompt.dtype)
        if end is not None:
            token = jnp.where(ended, end, token)
            ended = ended | (token == end)
        return token, known.at[:, before + i].set(token), ended

    def goes_on(carry: Any) -> jax.Array:
        i, _, _, _, ended = carry
        return (i < length) & ~jnp.all(ended)

    def step(carry: Any) -> Any:
        i, cache, token, known, ended = carry
        logits, cache = decoder.step(weights, cache, token)
        token, known, ended = chosen(i, logits, known, ended)
        return i + 1, cache, token, known, ended

    logits, cache = decoder.prefill(weights, cache, prompt)
    first = chosen(0, logits, known, ended)
    _, cache, _, known, _ = lax.while_loop(goes_on, step, (1, cache, *first))
    tokens = known[:, before:]
    return (tokens if end is None else jnp.where(tokens < 0, end, tokens)), cache


def tokens_of(prompt: Any) -> jax.Array:
    """A prompt in signed integers of 32 bits or more: any class is one of them, and so is -1."""
    prompt = jnp.asarray(prompt)
    fits = prompt.dtype == jnp.int64 or not jnp.issubdtype(prompt.dtype, jnp.integer)
    return prompt if fits else prompt.astype(jnp.int32)


def check_room(
    owner: str, decoder: Decoder, shape: tuple[int, ...], length: int
) -> None:
    """Refuse more positions than a cache has."""
    needed = (shape[1] if len(shape) > 1 else 0) + length - 1
    if needed > decoder.max_length:
        raise ValueError(
            f"{owner}: a prompt of shape {shape} and {length} tokens need {needed} positions, "
            f"and the cache has {decoder.max_length}"
        )
