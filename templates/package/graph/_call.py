"""Calls of modules, with what each of them takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from .._core import scopes
from .._core.arrays import ANY
from ._params import Params


def keyword_inputs(cls: type) -> tuple[str, ...]:
    """What a block may hand by name to a module of one's own: what follows x, or `**`."""
    return tuple(name for name in _keywords(cls) if name != "is_training")


@cache
def keyword_only(cls: type) -> tuple[str, ...]:
    """What a block may hand by name to a module of a layer: keyword inputs of `fwd`."""
    parameters = inspect.signature(cls.__call__).parameters.values()
    names = (p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
    return tuple(name for name in names if name != "is_training")


@cache
def _keywords(cls: type) -> tuple[str, ...]:
    """What may be handed to `__call__(self, params, x, ...)` by name."""
    names, positions = [], 0
    for parameter in inspect.signature(cls.__call__).parameters.values():
        match parameter.kind:
            case parameter.VAR_KEYWORD:
                names.append(ANY)
            case parameter.KEYWORD_ONLY:
                names.append(parameter.name)
            case parameter.POSITIONAL_OR_KEYWORD if positions > 2:
                names.append(parameter.name)
        positions += parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.KEYWORD_ONLY,
        )
    return tuple(names)


@cache
def _takes_training(cls: type) -> bool:
    return not {"is_training", ANY}.isdisjoint(_keywords(cls))


def call(
    module: Any, params: Params, x: Any, is_training: bool, **inputs: Any
) -> tuple[Any, Params]:
    """A module's call, with `is_training` where it takes that, or any keyword.

    Raises:
        TypeError: where it returns something else than `(y, params)`.
    """
    if _takes_training(type(module)):
        inputs["is_training"] = is_training
    several = module._takes_several and isinstance(x, tuple)
    given = x if several else (x,)
    name = type(module).__name__
    if hasattr(module, "functions"):  # The call of a layer has the name of its `fwd`.
        result = module(params, *given, **inputs)
    else:
        with scopes.Place(name, x):
            result = module(params, *given, **inputs)
    match result:
        case (y, Params() as after):
            return y, after
    raise TypeError(
        f"{name}: a call must return (y, params), got {type(result).__name__}"
    )


def takes_several(cls: type) -> bool:
    """Whether a call has inputs beside x that are given by position."""
    parameters = inspect.signature(cls.__call__).parameters.values()
    return sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters) > 3


def rng_by_name(init: Callable[..., None]) -> Callable[..., None]:
    """The `__init__` of a layer's module, to which an `Rng` is given by name only.

    It would stand in the place of a hyperparameter, and some of these are functions, as an
    `Rng` is.
    """
    names = [name for name in inspect.signature(init).parameters if name != "self"]

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        given = [*zip(names, args, strict=False), *kwargs.items()]
        for i, (name, value) in enumerate(given):
            if getattr(value, "_gives_keys", False) and (
                i < len(args) or name != "rng"
            ):
                raise TypeError(
                    f"{type(self).__name__}: {name} is given an Rng; pass it by its name, "
                    "rng=..."
                )
        init(self, *args, **kwargs)

    return checked
