"""A trained language model that learns another text by maps of low rank: modules of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax

import mlax.graph as bx
from mlax import functional, nn, optim, train
from mlax.loss import softmax_cross_entropy_with_integer_labels


def adapted(net: Any, params: bx.Params, seed: int) -> tuple[Any, bx.Params]:
    """The model with a map of low rank beside each map of its feed-forward networks."""
    places = [p for p in bx.parts(net, params) if p.endswith(("widen", "narrow"))]
    keys = iter(jax.random.split(jax.random.key(seed), len(places)))

    def with_lora(linear: Any) -> Any:
        weights, _, given = linear
        made, *rest = nn.LoRALinear.init(
            next(keys), given.in_features, given.out_features, rank=4
        )
        return made._replace(linear=weights), *rest

    return bx.replace(net, params, dict.fromkeys(places, with_lora))


def fit(
    net: Any, params: bx.Params, batches: Iterable[Any]
) -> tuple[bx.Params, list[float]]:
    """Train what was added; all weights, and what the loss was at each step."""
    trained, rest = params.split(lambda path, _: "lora" in path)

    @train.loss_of_params
    def loss(params: bx.Params, batch: Any, key: Any) -> Any:
        given, after = batch
        logits, params = net(params, given)
        losses = softmax_cross_entropy_with_integer_labels(logits, after)
        return functional.mean(losses), params

    adam = optim.Adam.init(trained, 1e-2)
    state = train.init(trained, rest, adam, jax.random.key(0))
    losses: list[float] = []
    step = jax.jit(train.step(loss, adam))
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return state.trainables.merge(rest), losses
