"""A trained language model that learns another text by maps of low rank: pairs of mlax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax

from mlax import functional, nn, optim, surgery, train
from mlax.loss import softmax_cross_entropy_with_integer_labels


def adapted(model: tuple[Any, Any, Any], seed: int) -> tuple[Any, Any, Any]:
    """The model with a map of low rank beside each map of its feed-forward networks."""
    places = [p for p in surgery.parts(model) if p.endswith(("widen", "narrow"))]
    keys = iter(jax.random.split(jax.random.key(seed), len(places)))

    def with_lora(linear: Any) -> Any:
        weights, _, given = linear
        made, *rest = nn.LoRALinear.init(
            next(keys), given.in_features, given.out_features, rank=4
        )
        return made._replace(linear=weights), *rest

    return surgery.replace(model, dict.fromkeys(places, with_lora))


def fit(
    trainables: Any, non_trainables: Any, hyperparams: Any, batches: Iterable[Any]
) -> tuple[Any, list[float]]:
    """Train what was added; all weights, and what the loss was at each step."""
    trained, frozen = surgery.split(trainables, lambda path, _: "/lora/" in path)

    def loss(trained: Any, rest: Any, batch: Any, key: Any) -> Any:
        given, after = batch
        logits, state = hyperparams.apply(
            given, surgery.merge(trained, rest[1]), rest[0]
        )
        losses = softmax_cross_entropy_with_integer_labels(logits, after)
        return functional.mean(losses), (state, rest[1])

    adam = optim.Adam.init(trained, 1e-2)
    state = train.init(trained, (non_trainables, frozen), adam, jax.random.key(0))
    losses: list[float] = []
    step = jax.jit(train.step(loss, adam))
    for batch in batches:
        state, measured = step(state, batch)
        losses.append(float(measured["loss"]))
    return surgery.merge(state.trainables, frozen), losses
