"""A decoder of an initialized layer."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
from jax.typing import DTypeLike

from .._core import checks, outlines
from .._core.static import InitializedLayer, static
from ..surgery._places import members, rebuilt, with_part
from ..surgery._standing import StandIn
from ._decoder import FIELDS, KEPT, Decoder, Slot, kept_dtype, stack_of, without_cache


@static
class _Call:
    """A layer at inference, as a decoder calls it."""

    hyperparams: Any

    def __call__(self, weights: Any, cache: Any, tokens: Any) -> tuple[Any, Any]:
        return self.hyperparams.apply(tokens, weights, cache, True)


def of_pair(
    layer: InitializedLayer,
    *,
    rows: int,
    max_length: int,
    cache_dtype: DTypeLike | None = None,
) -> tuple[Decoder, Any, Any]:
    """A decoder of an initialized layer, its weights, and an empty cache.

    The model may have been trained without a cache, in any batch size, or have one of
    another size. All its layers that can have one get one: those with the hyperparameters
    `max_length`, `batch` and `cache_dtype`, as MultiHeadAttention.

        decoder, weights, cache = of_pair(model, rows=2, max_length=64)
        logits, cache = decoder.prefill(weights, cache, prompt)

    Args:
        layer: `(trainables, non_trainables, hyperparams)`; it maps tokens (rows, n) to
            logits (rows, n, classes).
        rows: number of sequences that are decoded together.
        max_length: positions for which there is room.
        cache_dtype: dtype of the cache; None: that of the weights.

    Returns:
        `(decoder, trainables, cache)`.

    Raises:
        ValueError: where no layer can have a cache, or a number is not what it may be.
        TypeError: where the layer is none.
    """
    given = checks.sub_layer("generation.of_pair", layer=layer)
    rows = checks.size("generation.of_pair", rows=rows)
    max_length = checks.size("generation.of_pair", max_length=max_length)
    options = {"max_length": max_length, "batch": (rows,), "cache_dtype": cache_dtype}
    trainables, marked, hyperparams = with_slots(given, options)
    leaves, structure = jax.tree.flatten(marked)
    if not any(isinstance(leaf, Slot) for leaf in leaves):
        name = type(given[2]).__name__.removesuffix("Hyperparams")
        raise without_cache("of_pair", name)
    axes = tuple(leaf.axis if isinstance(leaf, Slot) else KEPT for leaf in leaves)
    cache = structure.unflatten(
        leaf.zeros() if isinstance(leaf, Slot) else leaf for leaf in leaves
    )
    return Decoder(_Call(hyperparams), axes, rows, max_length), trainables, cache


def with_slots(layer: Any, options: dict[str, Any]) -> Any:
    """A layer, or a container of layers, with slots in the places of caches."""
    trainables, state, node = layer
    if isinstance(node, StandIn):
        inner = with_slots((trainables, state, node.hyperparams), options)
        return *inner[:2], dataclasses.replace(node, hyperparams=inner[2])
    for name, member in members(layer):
        new = with_slots(member, options)
        if new[2] is not member[2]:
            state = with_part(
                state, name, new[1], node, f"{name!r} has a state", str(node)
            )
            node = rebuilt(node, name, new[2])
    names = getattr(node, "__dataclass_fields__", {})
    if all(name in names for name in FIELDS):
        holds_others = node is not layer[2]
        node = dataclasses.replace(node, **options)
        if not holds_others:
            state = _slots(trainables, node, options)
    return trainables, state, node


def _slots(trainables: Any, node: Any, options: dict[str, Any]) -> Any:
    """The state of a layer that has a cache itself."""
    weights = jax.tree.leaves(trainables)
    stack = stack_of(weights, jax.tree.leaves(outlines.of(node).trainables))
    # An outline knows shapes, and not that a counter is an integer.
    _, state, _ = jax.eval_shape(lambda: node._initialized(jax.random.key(0)))
    dtype = kept_dtype(options["cache_dtype"], weights)
    [rows] = options["batch"]
    return jax.tree.map(lambda struct: Slot(struct, stack, rows, dtype), state)
