"""A character language model that continues a text: pairs of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp

from mlax import block, functional, nn, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels


def model(seed: int, characters: int, **cache: Any) -> tuple[Any, Any, Any]:
    """What `init` of the model returns; `max_length` and `batch` give it a cache."""
    keys = jax.random.split(jax.random.key(seed), 4)
    options = {"causal": True, **cache}
    return block.Series.init(
        [
            nn.Embed.init(keys[0], characters, 32),
            block.TransformerEncoderLayer.init(keys[1], 32, 4, 64, **options),
            block.TransformerEncoderLayer.init(keys[2], 32, 4, 64, **options),
            nn.LayerNorm.init(keys[3], 32),
            nn.Linear.init(keys[3], 32, characters),
        ]
    )


def fit(
    trainables: Any, non_trainables: Any, hyperparams: Any, batches: Iterable[Any]
) -> tuple[Any, list[float]]:
    """Train on batches of characters and those after them; the weights, and the loss at each step."""

    def loss(trainables: Any, non_trainables: Any, batch: Any, key: Any) -> Any:
        given, after = batch
        logits, non_trainables = hyperparams.apply(given, trainables, non_trainables)
        losses = softmax_cross_entropy_with_integer_labels(logits, after)
        return functional.mean(losses), non_trainables

    optimizer = optim.AdamW.init(trainables, 1e-2)
    state = train.init(trainables, non_trainables, optimizer, jax.random.key(0))
    losses: list[float] = []
    step = jax.jit(train.step(loss, optimizer[1]))
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state.trainables, losses


def write(
    trainables: Any, seed: int, characters: int, prompt: jax.Array, length: int
) -> jax.Array:
    """The most probable characters (1, length) that follow a prompt (1, positions)."""
    options = {"max_length": prompt.shape[1] + length, "batch": (1,)}
    _, cache, hyperparams = model(seed, characters, **options)

    def step(carry: Any, _: Any) -> tuple[Any, jax.Array]:
        token, cache = carry
        logits, cache = hyperparams.apply(token, trainables, cache, True)
        token = jnp.argmax(logits[:, -1:], axis=-1)
        return (token, cache), token[:, 0]

    first, _ = step((prompt, cache), None)
    _, after = jax.lax.scan(step, first, length=length - 1)
    return jnp.concatenate([first[0], after.T], axis=1)
