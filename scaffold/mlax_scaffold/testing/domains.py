"""Numbers at which a spec of one's own is defined, where it is not for all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax

from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.dtypes import is_inexact

RANGES = ((0.25, 2.0), (0.1, 0.9), (-0.25, 0.25))
"""Between which numbers inputs are drawn, one pair after another, where normal ones are not taken."""


class NotFinite(AssertionError):
    """A result or a gradient is no finite number."""


def hold_where_defined(case: Case, check: Callable[[Case], None]) -> None:
    """Check a case; one of a spec that does not say what it takes where results and gradients are finite.

    Raises:
        NotFinite: for normal numbers, where they are finite for none.
    """
    try:
        check(case)
    except NotFinite as error:
        for between in RANGES if case.unsaid else ():
            drawn = _drawn(case, between)
            if drawn is not None and _holds(drawn, check):
                return
        raise error


def _holds(case: Case, check: Callable[[Case], None]) -> bool:
    try:
        check(case)
    except NotFinite:
        return False
    return True


def _drawn(case: Case, between: tuple[float, float]) -> Case | None:
    """The case with floating inputs between two numbers; None where their ranges are known."""
    tree = {"x": case.x, **case.inputs}
    places = [
        path[0].key + jax.tree_util.keystr(path[1:])
        for path, value in jax.tree_util.tree_leaves_with_path(tree)
        if is_inexact(value) and path[0].key not in case.ranges
    ]
    more = {place: between for place in places if place not in case.ranges}
    ranges = {**more, **case.ranges}
    return dataclasses.replace(case, ranges=ranges) if more else None
