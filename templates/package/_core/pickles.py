"""Pickles of what holds functions: those that do not pickle by themselves are kept by name."""

import importlib
import sys
from typing import Any, NamedTuple


class Named(NamedTuple):
    """A function in a pickle: `jax.nn.relu` and its like are objects that have no way there."""

    module: str
    name: str


_PUBLIC = ("jax.nn", "jax.numpy", "jax.lax", "jax.scipy.special")
"""Where functions of jax are found, whose own modules are private."""


def to_pickle(value: Any) -> Any:
    """A value as it goes into a pickle; a tuple part by part."""
    if type(value) is tuple:
        return tuple(map(to_pickle, value))
    if not callable(value):
        return value
    name = getattr(value, "__name__", None)
    for module in (*_PUBLIC, getattr(value, "__module__", None)):
        if name and module and getattr(sys.modules.get(module), name, None) is value:
            return Named(module, name)
    return value


def from_pickle(value: Any) -> Any:
    """What `to_pickle` was given."""
    if type(value) is Named:
        return getattr(importlib.import_module(value.module), value.name)
    return tuple(map(from_pickle, value)) if type(value) is tuple else value
