"""What stands for a hyperparameter where two are compared, and in hashes."""

import functools
from types import FunctionType
from typing import Any

import numpy as np


def hashable(value: Any) -> Any:
    """What stands for a value where two are compared."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    if type(value) is tuple:
        return tuple(map(hashable, value))
    if type(value) is dict:
        return tuple((name, hashable(item)) for name, item in value.items())
    if type(value) is functools.partial:
        return _of_partial(value)
    if type(value) is FunctionType and "<locals>" in value.__qualname__:
        return _of_local(value)
    return value


def _of_local(value: FunctionType) -> Any:
    """Its text with what it reads of the function that made it: each call of that makes it anew.

    Itself where it is more than that, or reads what has no hash.
    """
    defaults = *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()
    try:
        read = [cell.cell_contents for cell in value.__closure__ or ()]
        read = [hashable(v) if isinstance(v, np.ndarray) else v for v in read]
        kinds = tuple(map(type, (*read, *defaults)))
        parts = value.__code__, id(value.__globals__), kinds, (*read, *defaults)
        hash(parts)
    except (TypeError, ValueError):  # A cell may be empty.
        return value
    return value if value.__dict__ else parts


def _of_partial(value: functools.partial[Any]) -> Any:
    """Its function with its arguments and their types; itself where one has no hash, as arrays of jax."""
    arguments = (*value.args, *value.keywords.values())
    kinds = tuple(map(type, arguments))
    parts = value.func, tuple(value.keywords), kinds, hashable(arguments)
    try:
        hash(parts)
    except TypeError:
        return value
    return parts
