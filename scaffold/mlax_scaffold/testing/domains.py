"""Numbers at which a spec of one's own is defined, where it is not for all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.dtypes import is_inexact

RANGES = ((0.25, 2.0), (0.1, 0.9), (-0.25, 0.25))
"""Between which numbers inputs are drawn, one pair after another, where normal ones are not taken."""


class NotFinite(AssertionError):
    """A result or a gradient is no finite number."""


class Undefined(NotFinite):
    """The same, of a spec that does not say what it takes: it may be defined in other cases."""


def hold_where_defined(case: Case, check: Callable[[Case], None]) -> None:
    """Check a case; one of a spec that does not say what it takes where results and gradients are finite.

    Raises:
        NotFinite: for normal numbers, where they are finite for none.
    """
    try:
        check(case)
    except NotFinite as error:
        tried = [_first(case), *(_drawn(case, between) for between in RANGES)]
        for drawn in tried if case.unsaid else ():
            if drawn is not None and _holds(drawn, check):
                return
        if case.unsaid:
            raise Undefined(*error.args) from error
        raise error


def _holds(case: Case, check: Callable[[Case], None]) -> bool:
    try:
        check(case)
    except NotFinite:
        return False
    return True


def _first(case: Case) -> Case | None:
    """The case with the first of what integers choose from, which every table has; None without integers."""
    places = [place for place, value in _inputs(case) if _is_integer(value)]
    ranges = {**case.ranges, **dict.fromkeys(places, (0, 1))}
    return dataclasses.replace(case, ranges=ranges) if places else None


def _drawn(case: Case, between: tuple[float, float]) -> Case | None:
    """The case with floating inputs between two numbers; None where their ranges are known."""
    places = [place for place, value in _inputs(case) if is_inexact(value)]
    known = [name for name in case.ranges if "[" not in name]
    more = {
        place: between
        for place in places
        if place not in case.ranges and place.partition("[")[0] not in known
    }
    ranges = {**more, **case.ranges}
    return dataclasses.replace(case, ranges=ranges) if more else None


def _inputs(case: Case) -> Iterator[tuple[str, Any]]:
    """The arrays that are given, by their places."""
    tree = {"x": case.x, **case.inputs}
    for path, value in jax.tree_util.tree_leaves_with_path(tree):
        yield path[0].key + jax.tree_util.keystr(path[1:]), value


def _is_integer(value: Any) -> bool:
    return jnp.issubdtype(value.dtype, jnp.integer)
