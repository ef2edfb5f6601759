"""A decoder of a module, whose parameters are in `Params`."""

from __future__ import annotations

import copy
from typing import Any

from jax.typing import DTypeLike

from .._core import checks
from ._decoder import FIELDS, KEPT, Decoder, Slot, without_cache
from ._pairs import with_slots


class _Call:
    """A module at inference, as a decoder calls it. It is hashable as the module is."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __call__(self, weights: Any, cache: Any, tokens: Any) -> tuple[Any, Any]:
        params = weights.merge(cache)
        logits, params = self.module(params, tokens, is_training=False)
        return logits, params.split()[1]


def of_module(
    module: Any,
    params: Any,
    *,
    rows: int,
    max_length: int,
    cache_dtype: DTypeLike | None = None,
) -> tuple[Decoder, Any, Any]:
    """A decoder of a module, its weights, and an empty cache: see `of_pair`.

    A copy of the module decodes: the given one stays as it is.

        decoder, weights, cache = of_module(net, params, rows=2, max_length=64)

    Args:
        module: maps tokens (rows, n) to logits (rows, n, classes), and takes
            `is_training`; it has been called once, so that it knows its sizes.
        params: with its parameters.
        rows: number of sequences that are decoded together.
        max_length: positions for which there is room.
        cache_dtype: dtype of the cache; None: that of the weights.

    Returns:
        `(decoder, weights, cache)`; weights are the parameters that are trainable, and
        the cache is the others.

    Raises:
        ValueError: where no module in it can have a cache, or has not been called.
        TypeError: where the arguments are not a module and `Params`.
    """
    from ..graph import Module, Params

    for name, given, kind in (("module", module, Module), ("params", params, Params)):
        if not isinstance(given, kind):
            raise TypeError(
                f"generation.of_module: {name} must be a {kind.__name__}, got "
                f"{type(given).__name__}"
            )
    rows = checks.size("generation.of_module", rows=rows)
    max_length = checks.size("generation.of_module", max_length=max_length)
    options = {"max_length": max_length, "batch": (rows,), "cache_dtype": cache_dtype}
    decoding = copy.deepcopy(module)
    slots: dict[Any, Slot] = {}
    for part in decoding.modules():
        if all(hasattr(part, name) for name in FIELDS):
            vars(part).update(options)
            slots |= _slots(part, params, options)
    if not slots:
        raise without_cache("of_module", type(module).__name__)
    unlocked = params.unlocked()
    for path, slot in slots.items():
        if path in unlocked:
            unlocked = unlocked.remove([path])
        unlocked = unlocked.add(path, slot.zeros(), trainable=False)
    weights, cache = unlocked.locked().split()
    axes = tuple(slots[path].axis if path in slots else KEPT for path in cache)
    return Decoder(_Call(decoding), axes, rows, max_length), weights, cache


def _slots(part: Any, params: Any, options: dict[str, Any]) -> dict[Any, Slot]:
    """The arrays of the caches of a module, by path."""
    outline = part._settled()
    state = outline.non_trainables
    structs = state.structure.unflatten(state.structs().values())
    weights = outline.trainables.read(part, params, check=False)
    _, marked, _ = with_slots((weights, structs, outline.hyperparams), options)
    leaves = state.by_path(marked).items()
    return {path: leaf for path, leaf in leaves if isinstance(leaf, Slot)}
