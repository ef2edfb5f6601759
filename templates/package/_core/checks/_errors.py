"""What the errors of all checks say."""

from typing import Any

import jax
import jax.numpy as jnp


def named(value: dict[str, Any]) -> tuple[str, Any]:
    """The name and the value of an argument that is given by keyword."""
    [(name, given)] = value.items()
    return name, given


def invalid(owner: str, name: str, expected: str, given: Any) -> ValueError:
    """The error of a value that is not what is expected."""
    text = f"{owner}: {name} must be {expected}, got {shown(given)}"
    return ValueError(f"{text}: {_KEYS}" if _is_key(given) else text)


_KEYS = "a key comes first where there are weights to draw, and is not given where there are none"


def _is_key(value: Any) -> bool:
    """Whether a value is a PRNG key, of either kind."""
    if not isinstance(value, jax.Array):
        return False
    is_legacy = value.dtype == jnp.uint32 and value.shape == (2,)
    return is_legacy or jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


_LONGEST = 500
"""Characters of a value that a message shows."""


def shown(value: Any) -> str:
    """A value, in a message: where that is long, arrays by dtype and shape."""
    if _is_key(value):
        return "a PRNG key"
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
    said = message if message.startswith(f"{owner} ") else f"{owner}: {message}"
    return ValueError(said + (f"; got {values}" if values else ""))


def require(owner: str, holds: Any, message: str, /, **given: Any) -> None:
    """A requirement of hyperparameters or inputs holds."""
    if not holds:
        raise requirement(owner, message, **given)
