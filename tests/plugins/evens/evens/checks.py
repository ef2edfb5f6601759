"""Checks of hyperparameters. They are copied into packages, which need jax alone."""

import numbers
from typing import Any


def even(owner: str, /, **value: Any) -> int:
    """An even integer of at least 2."""
    [(name, given)] = value.items()
    whole = isinstance(given, numbers.Integral) and not isinstance(given, bool)
    if not whole or given < 2 or given % 2:
        raise ValueError(
            f"{owner}: {name} must be an even integer of at least 2, got {given!r}"
        )
    return int(given)
