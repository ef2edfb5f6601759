"""Arrays: their dtypes, axes and shapes."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.core
import jax.numpy as jnp

from ._errors import named
from ._functions import is_floating


def floating(owner: str, /, **value: Any) -> jax.Array:
    """An array of a floating dtype."""
    [(name, array)] = value.items()  # at once: every call of a layer passes here
    if not isinstance(array, jax.Array):
        array = _array(owner, name, "a floating array", array)
    if not is_floating(array.dtype):
        raise TypeError(
            f"{owner}: {name} must be a floating array, got {array.dtype}; "
            f"cast it first, for example {name}.astype(jnp.float32)"
        )
    return array


def complex_valued(owner: str, /, **value: Any) -> jax.Array:
    """An array of a complex dtype."""
    name, given = named(value)
    array = _array(owner, name, "a complex array", given)
    if not jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise TypeError(
            f"{owner}: {name} must be a complex array, got {array.dtype}; "
            f"make it one first, for example {name}.astype(jnp.complex64)"
        )
    return array


def has_complex(owner: str, dtype: Any, /, *declared: Any) -> None:
    """Complex numbers are of float32 or float64; a dtype that is declared may be one of these."""
    given = [d for d in declared if d is not None] or [dtype]
    if all(d.itemsize < 4 for d in given):
        raise TypeError(
            f"{owner} computes with complex numbers, which are of float32 or float64, got "
            f"{given[0]}; cast its input first, for example x.astype(jnp.float32), and "
            "its result back"
        )


def real(owner: str, /, **value: Any) -> jax.Array:
    """An array of a floating or an integer dtype."""
    name, given = named(value)
    array = _array(owner, name, "a floating or integer array", given)
    if not is_floating(array.dtype) and not jnp.issubdtype(array.dtype, jnp.integer):
        raise TypeError(
            f"{owner}: {name} must be a floating or integer array, got {array.dtype}; "
            f"cast it first, for example {name}.astype(jnp.int32)"
        )
    return array


def integral(owner: str, /, **value: Any) -> jax.Array:
    """An array of an integer dtype."""
    name, given = named(value)
    array = _array(owner, name, "an integer array", given)
    if not jnp.issubdtype(array.dtype, jnp.integer):
        raise TypeError(f"{owner}: {name} must be an integer array, got {array.dtype}")
    return array


def logical(owner: str, /, **value: Any) -> jax.Array:
    """An array of booleans."""
    name, given = named(value)
    array = _array(owner, name, "a boolean array", given)
    if array.dtype != jnp.bool_:
        raise TypeError(
            f"{owner}: {name} must be a boolean array, got {array.dtype}; "
            "True keeps a place"
        )
    return array


def _array(owner: str, name: str, expected: str, given: Any) -> jax.Array:
    if isinstance(given, jax.Array):
        return given
    if isinstance(given, tuple | list) and any(
        isinstance(part, jax.Array) for part in given
    ):
        # jax would stack them, where it is more likely that one of them is meant.
        raise TypeError(
            f"{owner}: {name} must be {expected}, got a {type(given).__name__} of "
            f"{len(given)}; `jnp.stack` makes one array of them"
        )
    try:
        return jnp.asarray(given)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{owner}: {name} must be {expected}, got {type(given).__name__}"
        ) from error


Element = Callable[..., Any] | tuple["Element", ...] | None
"""What checks a part of a tuple: another check, those of a tuple's own parts, or nothing."""


def items(
    owner: str, count: int | None, element: Element = None, /, **value: Any
) -> tuple[Any, ...]:
    """A tuple of so many elements, each of which another check takes, or one of its own.

    Without a count there may be any number, all of which one check takes.
    """
    name, given = named(value)
    several = isinstance(given, tuple | list)
    if not several or (count is not None and len(given) != count):
        one = "an array" if isinstance(given, jax.Array) else type(given).__name__
        found = f"{len(given)}" if several else one
        wanted = "a tuple" if count is None else f"a tuple of {count}"
        raise TypeError(f"{owner}: {name} must be {wanted}, got {found}")
    if element is None:
        return tuple(given)
    each: tuple[Element, ...] = (element,) * len(given)
    if isinstance(element, tuple) and count is not None:
        each = element
    return tuple(
        _element(owner, check, f"{name}[{i}]", part)
        for i, (check, part) in enumerate(zip(each, given, strict=True))
    )


def _element(owner: str, check: Any, name: str, given: Any) -> Any:
    if check is None:
        return given
    if isinstance(check, tuple):
        return items(owner, len(check), check, **{name: given})
    return check(owner, **{name: given})


def made_of(kind: Callable[..., Any], /, *each: Element) -> Callable[..., Any]:
    """A check of a NamedTuple, or of a tuple like it, each field of which another check takes."""

    def check(owner: str, /, **value: Any) -> Any:
        return kind(*items(owner, len(each), each, **value))

    return check


def entries(
    owner: str,
    keys: tuple[str, ...],
    element: Element = None,
    /,
    **value: Any,
) -> dict[str, Any]:
    """A dictionary with these keys, and perhaps others; another check takes each, or one of its own."""
    name, given = named(value)
    if not isinstance(given, Mapping) or not all(key in given for key in keys):
        found = list(given) if isinstance(given, Mapping) else type(given).__name__
        raise TypeError(
            f"{owner}: {name} must be a dictionary with {', '.join(keys)}, got {found}"
        )
    each = element if isinstance(element, tuple) else (element,) * len(keys)
    parts = {
        key: _element(owner, check, f"{name}[{key!r}]", given[key])
        for key, check in zip(keys, each, strict=True)
    }
    return {**given, **parts}


def unpack(owner: str, names: str, x: Any, count: int) -> tuple[Any, ...]:
    """The inputs of a layer that takes several as one tuple."""
    if not isinstance(x, tuple | list) or len(x) != count:
        given = f"{len(x)} values" if isinstance(x, tuple | list) else type(x).__name__
        raise TypeError(f"{owner}: x must be the tuple {names}, got {given}")
    return tuple(x)


def has_axes(owner: str, ndim: int, /, **value: Any) -> None:
    """Axes, or None, are among those of an array, and none of them is meant twice."""
    name, given = named(value)
    if given is None:
        return
    if any(not -ndim <= axis < ndim for axis in given) or (
        len({axis % ndim for axis in given}) != len(given)
    ):
        raise ValueError(
            f"{owner}: {name} must be different axes of an array of {ndim} axes, "
            f"got {given}"
        )


def same_dtype(owner: str, /, **arrays: Any) -> None:
    """All inputs that are computed with have one dtype: mixing them would promote one silently.

    What is complex has the precision of what is real.
    """
    given = {name: x.dtype for name, x in arrays.items() if x is not None}
    if len(set(given.values())) > 1 and len({*map(_precision, given.values())}) > 1:
        shown = ", ".join(f"{name}: {dtype}" for name, dtype in given.items())
        raise TypeError(
            f"{owner}: inputs must have one dtype, got {shown}; cast them to one"
        )


def _precision(dtype: Any) -> Any:
    """The dtype of the parts of a complex one; any other itself."""
    return jnp.finfo(dtype).dtype if jnp.issubdtype(dtype, jnp.inexact) else dtype
