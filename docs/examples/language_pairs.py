"""A character language model that continues a text: pairs of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax

from mlax import block, functional, generation, nn, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels


def model(seed: int, characters: int) -> tuple[Any, Any, Any]:
    """What `init` of the model returns."""
    keys = jax.random.split(jax.random.key(seed), 4)
    return block.Series.init(
        [
            nn.Embed.init(keys[0], characters, 32),
            block.TransformerEncoderLayer.init(keys[1], 32, 4, 64, causal=True),
            block.TransformerEncoderLayer.init(keys[2], 32, 4, 64, causal=True),
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


def write(layer: tuple[Any, Any, Any], prompt: jax.Array, length: int) -> jax.Array:
    """The most probable characters (1, length) that follow a prompt (1, positions)."""
    room = prompt.shape[1] + length
    decoder = generation.of_pair(layer, rows=1, max_length=room)
    return generation.generate(*decoder, prompt, length)[0]
