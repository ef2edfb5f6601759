"""What the errors of all checks say."""

from typing import Any

import jax
import jax.core


def named(value: dict[str, Any]) -> tuple[str, Any]:
    """The name and the value of an argument that is given by keyword."""
    [(name, given)] = value.items()
    return name, given


def invalid(owner: str, name: str, expected: str, given: Any) -> ValueError:
    """The error of a value that is not what is expected."""
    return ValueError(f"{owner}: {name} must be {expected}, got {shown(given)}")


_LONGEST = 500
"""Characters of a value that a message shows."""


def shown(value: Any) -> str:
    """A value, in a message: where that is long, arrays by dtype and shape."""
    text = repr(value)
    if len(text) > _LONGEST:
        text = repr(
            jax.tree.map(
                lambda leaf: (
                    jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
                    if hasattr(leaf, "shape") and hasattr(leaf, "dtype")
                    else leaf
                ),
                value,
            )
        )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def requirement(owner: str, message: str, /, **given: Any) -> ValueError:
    """The error of a requirement that does not hold."""
    values = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return ValueError(f"{owner}: {message}" + (f"; got {values}" if values else ""))


def require(owner: str, holds: Any, message: str, /, **given: Any) -> None:
    """A requirement of hyperparameters or inputs holds."""
    if not holds:
        raise requirement(owner, message, **given)
