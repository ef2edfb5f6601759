"""Runs the text of a spec as the class of Python that it is, with nothing of the scaffolder.

Attributes are arrays, states are assigned to, layers are called: what a spec means is what Python does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp


@dataclass(frozen=True)
class _Declared:
    """A weight or a state that `setup` declares."""

    is_weight: bool


class _Type:
    def __class_getitem__(cls, shape: str) -> type[_Type]:
        return cls


class Layer:
    """What classes of specs are based on."""

    training = True

    def __init__(self, *given: Any, **named: Any) -> None:
        fields = zip(type(self).__annotations__, given, strict=False)
        for name, value in [*fields, *named.items()]:
            setattr(self, name, value)
        self.setup()

    @property
    def non_trainables(self) -> Any:
        """Its states are attributes."""
        return self

    def setup(self) -> None:
        """Layers without weights declare nothing."""

    def key(self) -> None:
        """What is drawn is given: no key is looked at."""

    def keys(self, count: int) -> list[None]:
        """Likewise."""
        return [None] * count

    def __call__(self, x: Any) -> Any:
        return self.forward(x)  # type: ignore[attr-defined]


_WORDS = SimpleNamespace(
    Float=_Type,
    Block=Layer,
    Layer=Layer,
    SubLayer=Layer,
    SubLayers=list,
    Size=int,
    mean=jnp.mean,
    ones=None,
    zeros=None,
    trainable=lambda initializer, shape: _Declared(True),
    state=lambda initializer, shape: _Declared(False),
)


def plain_classes(texts: Iterable[str]) -> Mapping[str, Any]:
    """The classes of specs, each of which may use those before it."""
    names: dict[str, Any] = dict(vars(_WORDS))
    for text in texts:
        exec(re.sub(r"^from (mlax_scaffold|specs)\b.*", "", text, flags=re.M), names)
    return names


def loaded(layer: Any, trainables: Any, states: Any, training: bool) -> Any:
    """A layer, or a container of them, with arrays in the place of what it declares."""
    match layer:
        case _Declared():
            return trainables if layer.is_weight else states
        case list() | dict():
            items = layer.items() if isinstance(layer, dict) else enumerate(layer)
            made = {
                place: loaded(
                    part, _part(trainables, place), _part(states, place), training
                )
                for place, part in items
            }
            return made if isinstance(layer, dict) else [*made.values()]
        case Layer():
            layer.training = training
            for name, part in vars(layer).items():
                pair = getattr(trainables, name, None), getattr(states, name, None)
                setattr(layer, name, loaded(part, *pair, training))
    return layer


def states_of(layer: Any, like: Any) -> Any:
    """The states of a layer as a tree like another one."""
    if hasattr(like, "_fields"):
        return type(like)(
            *(states_of(getattr(layer, n), getattr(like, n)) for n in like._fields)
        )
    if isinstance(like, dict):
        return {place: states_of(layer[place], part) for place, part in like.items()}
    if isinstance(like, tuple):
        return tuple(map(states_of, layer, like))
    return layer if like is not None else None


def _part(tree: Any, place: Any) -> Any:
    return tree[place] if tree else None
