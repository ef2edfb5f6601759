"""Comparing pytrees: structure, dtypes, and values to the rounding of a dtype."""

from __future__ import annotations

from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

PyTree = Any
DEFAULT_ULPS = 16


def assert_matches(
    expected: PyTree,
    actual: PyTree,
    dtype: DTypeLike,
    *,
    ulps: float = DEFAULT_ULPS,
    what: str = "result",
) -> None:
    """Raise AssertionError unless two pytrees agree to the rounding of `dtype`.

    Structures, shapes and dtypes are equal, integers and booleans too. Floating values
    differ by at most `ulps` units in the last place of `dtype`, counted at the magnitude of
    the largest finite value of the array: in a sum, small results have large rounding
    errors. Subnormal numbers count as zero. NaN matches NaN, and infinities those of the same sign.
    """
    assert_same_structure(expected, actual, what=what)
    pairs = zip(
        jax.tree_util.tree_leaves_with_path(expected),
        jax.tree.leaves(actual),
        strict=True,
    )
    for (path, e), a in pairs:
        _assert_close(e, a, dtype, ulps, what + jax.tree_util.keystr(path))


def assert_same_structure(expected: PyTree, actual: PyTree, *, what: str) -> None:
    """Raise AssertionError unless tree structures, shapes and dtypes are equal."""
    tree, other = jax.tree.structure(expected), jax.tree.structure(actual)
    if tree != other:
        raise AssertionError(f"{what} has the structure {other}, expected {tree}")
    pairs = zip(
        jax.tree_util.tree_leaves_with_path(expected),
        jax.tree.leaves(actual),
        strict=True,
    )
    for (path, e), a in pairs:
        given, wanted = _type(a), _type(e)
        if given != wanted:
            place = what + jax.tree_util.keystr(path)
            raise AssertionError(f"{place} is {given}, expected {wanted}")


def by_name(tree: PyTree) -> PyTree:
    """The tree with dicts in the place of NamedTuples, by the names of class and fields.

    A spec and the module generated from it each have a class of their own.
    """
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        own, named = type(tree).__name__, cast(Any, tree)
        fields = zip(named._fields, named, strict=True)
        return {f"{own}.{name}": by_name(value) for name, value in fields}
    if type(tree) in (tuple, list):
        return type(tree)(map(by_name, tree))
    if type(tree) is dict:
        return {name: by_name(value) for name, value in tree.items()}
    return tree


def _type(value: Any) -> str:
    dtype = value.dtype if hasattr(value, "dtype") else jnp.asarray(value).dtype
    return f"{dtype}[{','.join(map(str, np.shape(value)))}]"


def _assert_close(
    expected: Any, actual: Any, dtype: DTypeLike, ulps: float, place: str
) -> None:
    if jnp.issubdtype(jnp.asarray(expected).dtype, jax.dtypes.prng_key):
        expected, actual = map(jax.random.key_data, (expected, actual))
    e, a = np.asarray(expected), np.asarray(actual)
    inexact = jnp.issubdtype(e.dtype, jnp.inexact)
    if not inexact:
        wrong = e != a
        limit = 0.0
    else:
        wide = np.complex128 if np.iscomplexobj(e) else np.float64
        e, a = e.astype(wide), a.astype(wide)
        finite = np.isfinite(e)
        scale = np.max(np.abs(e[finite]), initial=0.0)
        info = jnp.finfo(dtype)
        # Whether subnormal numbers are flushed to zero depends on the compiler, and a
        # number that is hardly normal may come from some that are not.
        limit = max(ulps * float(info.eps) * scale, 2.0 * float(info.tiny))
        with np.errstate(invalid="ignore"):
            close = np.abs(a - e) <= limit
        same = (e == a) | (np.isnan(e) & np.isnan(a))
        wrong = ~np.where(finite, close, same)
    if not np.any(wrong):
        return
    index = _worst(e, a, wrong)
    raise AssertionError(
        f"{place} differs at {np.count_nonzero(wrong)} of {wrong.size} places, most at "
        f"{list(map(int, index))}: {a[index]} instead of {e[index]}; allowed are {limit:.3g}"
        + (f" ({ulps} ulps of {jnp.dtype(dtype)})" if inexact else "")
    )


def _worst(e: np.ndarray, a: np.ndarray, wrong: np.ndarray) -> tuple[Any, ...]:
    with np.errstate(invalid="ignore"):
        difference = np.abs(a.astype(e.dtype) - e) if e.dtype != bool else wrong
    difference = np.where(wrong, np.nan_to_num(difference, nan=np.inf), -1.0)
    return np.unravel_index(np.argmax(difference), wrong.shape)
