"""Initialized layers and optimizers, and the keyword inputs that blocks hand to layers."""

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp

from .. import outlines
from ..arrays import ANY, keyword_inputs, together
from ..paths import named_leaves
from ._errors import invalid, named


def sub_layer(owner: str, /, **value: Any) -> tuple[Any, Any, Any]:
    """An initialized layer."""
    name, given = named(value)
    expected = (
        "what `init` of a layer returns: (trainables, non_trainables, hyperparams)"
    )
    if not isinstance(given, tuple) or len(given) != 3 or not applies(given[2]):
        raise invalid(owner, name, expected, given)
    return given


def cell(owner: str, /, **value: Any) -> tuple[Any, Any, Any]:
    """An initialized recurrent cell."""
    name, _ = named(value)
    layer = sub_layer(owner, **value)
    if not callable(getattr(layer[2], "initial_carry", None)):
        expected = (
            "an initialized recurrent cell, whose hyperparams have `initial_carry`"
        )
        raise invalid(owner, name, expected, layer[2])
    return layer


def stacked(owner: str, depth: int, /, **value: Any) -> tuple[Any, Any, Any]:
    """An initialized layer, with `depth` arrays stacked in each of its own."""
    name, _ = named(value)
    layer = sub_layer(owner, **value)
    for place, leaf in (*named_leaves(layer[0]), *named_leaves(layer[1])):
        if leaf is not outlines.ANYTHING and jnp.shape(leaf)[:1] != (depth,):
            raise ValueError(
                f"{owner}: {name} must have arrays whose first axis is depth={depth}, "
                f"got {place!r} of shape {jnp.shape(leaf)}; stack them with "
                f"jax.vmap(lambda key: Layer.init(key, ...))(jax.random.split(key, {depth}))"
            )
    return layer


def sub_layers(
    owner: str, /, **value: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...] | None, tuple[Any, ...]]:
    """Trainables, non-trainables and hyperparameters of a sequence of initialized layers.

    The non-trainables are None where no layer has any.
    """
    name, given = named(value)
    if not isinstance(given, Iterable) or applies(getattr(given, "hyperparams", None)):
        raise invalid(owner, name, "a sequence of initialized layers", given)
    layers = [
        sub_layer(owner, **{f"{name}[{i}]": layer}) for i, layer in enumerate(given)
    ]
    trainables, non_trainables, hyperparams = (
        zip(*layers, strict=True) if layers else ((), (), ())
    )
    return trainables, together(non_trainables), hyperparams


def applies(hyperparams: Any) -> bool:
    """Whether they are those of a layer or of an optimizer."""
    return callable(getattr(hyperparams, "apply", None))


def sub_optimizer(owner: str, /, **value: Any) -> tuple[Any, Any]:
    """An initialized optimizer."""
    name, given = named(value)
    if not _is_optimizer(given):
        expected = "what `init` of an optimizer returns: (state, hyperparams)"
        raise invalid(owner, name, expected, given)
    return given


def sub_optimizers(owner: str, /, **value: Any) -> tuple[tuple[Any, ...], ...]:
    """States and hyperparameters of a sequence of initialized optimizers."""
    name, given = named(value)
    expected = "a sequence of what `init` of an optimizer returns: (state, hyperparams)"
    if not isinstance(given, Iterable):
        raise invalid(owner, name, expected, given)
    pairs = list(given)
    for pair in pairs:
        if not _is_optimizer(pair):
            raise invalid(owner, name, expected, pair)
    states, hyperparams = zip(*pairs, strict=True) if pairs else ((), ())
    return tuple(states), tuple(hyperparams)


def _is_optimizer(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and applies(value[1])


def passed(owner: str, layer: Any, inputs: dict[str, Any], /) -> None:
    """Raise a TypeError where a keyword input is one that no layer of a block takes."""
    if not inputs:
        return
    known = keyword_inputs(layer)
    for name in inputs:
        if name not in known and ANY not in known:
            shown = ", ".join(known) or "none"
            raise TypeError(
                f"{owner}: no layer takes the keyword input {name!r}; they take: {shown}"
            )


def handed(owner: str, layer: Any, /, **inputs: Any) -> dict[str, Any]:
    """The keyword inputs that a block hands to one layer: those that are not None.

    Raises a TypeError where the layer takes no input of that name.
    """
    given = {name: value for name, value in inputs.items() if value is not None}
    passed(owner, layer, given)
    return given
