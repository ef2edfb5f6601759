"""Sizes that are taken only where they are the same, though nothing says that they are one size.

Arguments in the wrong order are mostly such: `GroupNorm(self.channels, self.groups)` takes no groups but as
many as there are channels, and what is refused is no case of a test.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlax_scaffold.testing.picks import Make, Unfit, with_values
from mlax_scaffold.testing.untaken import GIVEN

_SIZES = (1, 2, 3)
"""What is tried in the place of a size."""
_AXIS = "size of "
"""How the name of a pick begins that is the size of an axis."""
_CASES = 2
"""In so many cases."""
_PAIRS = 3
"""Where more pairs than these are alike, few sizes fit at all, and nothing is told of one pair."""


class SizesAlike(UserWarning):
    """Two sizes were the same in all cases of a test, or an input was in none, as others are refused."""


def alike(
    make: Make[Any], cases: Sequence[Mapping[str, Any]], name: str
) -> Iterator[tuple[str, str, str, str]]:
    """Two sizes that are the same in all cases, what is said where they are not, and "".

    So are two axes that are the same wherever an input is given that may be left out, but for a size of
    1, which jax stretches: the last item then says which one is given.

    Args:
        make: makes a case.
        cases: what was picked for each.
        name: the definition's name, which its own requirements begin with: those are meant.
    """
    told: set[tuple[str, str]] = set()
    optional = sorted({n for p in cases for n in p if n.endswith(GIVEN)})
    for given in ("", *optional):
        stretched = bool(given)
        group = [p for p in cases if p.get(given)] if given else cases
        pairs = list(_pairs(group, stretched))
        for one, other, both in pairs if len(pairs) <= _PAIRS else ():
            said = _refusal(make, both[:_CASES], one, other, _SIZES[stretched:])
            meant = said.startswith(f"{name}:") or (one, other) in told
            if said and not meant:
                told.add((one, other))
                sizes = one.removeprefix(_AXIS), other.removeprefix(_AXIS)
                yield *sizes, said, given


def _pairs(
    cases: Sequence[Mapping[str, Any]], stretched: bool
) -> Iterator[tuple[str, str, Sequence[Mapping[str, Any]]]]:
    """Two sizes that are the same in all cases that have both, and these; `stretched` says that of axes."""
    names = dict.fromkeys(
        key
        for picked in cases
        for key, value in picked.items()
        if type(value) is int
        and (key.startswith(_AXIS) if stretched else key.isidentifier())
    )
    for one, other in itertools.combinations(names, 2):
        both = [p for p in cases if one in p and other in p]
        if stretched:
            both = [p for p in both if 1 not in (p[one], p[other])]
        if both and all(p[one] == p[other] for p in both):
            yield one, other, both


def _refusal(
    make: Make[Any],
    cases: Sequence[Mapping[str, Any]],
    one: str,
    other: str,
    sizes: Sequence[int],
) -> str:
    """What is said where one size is another, and not where both are; else nothing."""
    said = ""
    for picked, size in itertools.product(cases, sizes):
        if size == picked[other] or _told(make, {**picked, one: size, other: size}):
            continue
        for name in (other, one):
            now = _told(make, {**picked, name: size})
            if not now:
                return ""
            said = said or now
    return said


def _told(make: Make[Any], values: Mapping[str, Any]) -> str:
    """Why values do not fit; nothing, where they do."""
    try:
        with_values(make, values)
    except Unfit as unfit:
        return str(unfit.__cause__ or unfit).strip().split("\n")[0] or "they do not fit"
    return ""
