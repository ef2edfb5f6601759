"""Objects of classes that are built on no library: their flags, and the arrays that they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp

from mlax_scaffold.testing.built import is_array

PREFIX = "original_"
"""What modules begin with that hold the classes of somebody's own code."""


def put_in_mode(value: Any, modes: Mapping[str, bool]) -> None:
    """Let flags of an object, and of those that it holds, have these values."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            put_in_mode(part, modes)
    elif type(value).__module__.startswith(PREFIX):
        for key, part in list(vars(value).items()):
            if key in modes and isinstance(part, bool):
                setattr(value, key, modes[key])
            put_in_mode(part, modes)


def replaced(value: Any, name: str, other: Callable[[str, Any], Any]) -> Any:
    """What an object holds with other arrays, which are named by their places."""
    if is_array(value):
        floating = jnp.issubdtype(value.dtype, jnp.floating)
        return other(name, value) if floating else value

    def inner(key: Any, part: Any) -> Any:
        return replaced(part, f"{name}/{key}" if name else str(key), other)

    if isinstance(value, dict):
        value.update({k: inner(k, part) for k, part in value.items()})
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(inner, getattr(value, "_fields"), value))  # noqa: B009
    elif isinstance(value, list | tuple):
        return type(value)(inner(i, part) for i, part in enumerate(value))
    elif type(value).__module__.startswith(PREFIX):
        for key, part in list(vars(value).items()):
            setattr(value, key, inner(key, part))
    return value
