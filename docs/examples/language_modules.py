"""A character language model that continues a text: modules of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax

import mlax.graph as bx
from mlax import functional, generation, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels


def model(seed: int, characters: int, tokens: jax.Array) -> tuple[Any, bx.Params]:
    """The model and its parameters."""
    graph = bx.Graph("language")
    rng = bx.Rng(graph.child("rng"))
    options = {"heads": 4, "hidden_features": 64, "causal": True, "rng": rng}
    net = bx.Sequential(
        graph.child("net"),
        [
            bx.Embed(graph.child("embed"), characters, 32, rng=rng),
            bx.TransformerEncoderLayer(graph.child("first"), **options),
            bx.TransformerEncoderLayer(graph.child("second"), **options),
            bx.LayerNorm(graph.child("norm"), rng=rng),
            bx.Linear(graph.child("last"), characters, rng=rng),
        ],
    )
    _, params = net(rng.seed(bx.Params(), seed=seed), tokens)
    return net, params.locked()


def fit(
    net: Any, params: bx.Params, batches: Iterable[Any]
) -> tuple[bx.Params, list[float]]:
    """Train on batches of characters and those after them; the weights, and the loss at each step."""

    @train.loss_of_params
    def loss(params: bx.Params, batch: Any, key: Any) -> Any:
        given, after = batch
        logits, params = net(params, given)
        losses = softmax_cross_entropy_with_integer_labels(logits, after)
        return functional.mean(losses), params

    trainables, rest = params.split()
    optimizer = optim.AdamW.init(trainables, 1e-2)
    state = train.init(trainables, rest, optimizer, jax.random.key(0))
    losses: list[float] = []
    step = jax.jit(train.step(loss, optimizer[1]))
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state.trainables, losses


def write(net: Any, params: bx.Params, prompt: jax.Array, length: int) -> jax.Array:
    """The most probable characters (1, length) that follow a prompt (1, positions)."""
    room = prompt.shape[1] + length
    decoder = generation.of_module(net, params, rows=1, max_length=room)
    return generation.generate(*decoder, prompt, length)[0]
