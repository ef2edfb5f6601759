"""What sizes of axes have in common that fit for several values of the hyperparameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FACTORS = (2, 3, 4, 8, 16)
"""What sizes are multiplied with."""


def counts(value: Any) -> bool:
    """Whether it is a size, or sizes, unlike what broadcasts."""
    if isinstance(value, tuple):
        return len(value) > 1 and all(counts(part) for part in value)
    return isinstance(value, int) and not isinstance(value, bool) and value > 1


@dataclass(frozen=True)
class Solved:
    """Sizes that fit, for some values of the hyperparameters."""

    axes: Mapping[str, int]
    bound: frozenset[str]
    """Those of which no other size fits while the others stay."""
    together: frozenset[str]
    """Those of these that other sizes fit of, if all of them have the same one: no hyperparameter says it."""
    values: Mapping[str, Any]


def relations(
    found: Sequence[Solved],
    bound: Container[str],
    *,
    across: bool,
    computed: bool,
    fixed: bool = True,
) -> dict[str, str]:
    """The text for each bound axis that the same holds of in every solution.

    `across` says whether an axis may follow from one of another name (`w` from `h`),
    `computed` whether it may be more than a hyperparameter (`2*dim`), and `fixed` whether
    it may be a number.
    """
    first = found[0].axes
    together = frozenset.intersection(*(s.together for s in found))
    texts: dict[str, str] = {}
    bases: list[str] = []
    for axis in sorted((a for a in first if a in bound), key=lambda a: first[a]):
        alike = [a for a in bases if across or _stem(a) == _stem(axis)]
        text = None
        if axis not in together:
            text = _common(axis, found, lambda s: _plain(s.values))
        text = text or _common(axis, found, lambda s, of=alike: _of_axes(s.axes, of))
        if text is None and computed and axis not in together:
            text = _common(axis, found, lambda s: _computed(s.values))
        if (
            text is None
            and fixed
            and axis not in together
            and len({s.axes[axis] for s in found}) == 1
        ):
            text = str(first[axis])
        if text is None:
            bases.append(axis)
        else:
            texts[axis] = text
    return texts


def _stem(axis: str) -> str:
    """A name without what tells levels apart: `h` of `h3`, `time` of `time_out`."""
    return axis.partition("_")[0].rstrip("0123456789")


def _common(
    axis: str,
    found: Sequence[Solved],
    expressions: Callable[[Solved], Iterable[tuple[str, int]]],
) -> str | None:
    """The first expression that has the size of an axis in every solution."""
    same = [
        [text for text, value in expressions(s) if value == s.axes[axis]] for s in found
    ]
    return next((t for t in same[0] if all(t in texts for texts in same[1:])), None)


def _plain(values: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Hyperparameters, their numbers and their ends, with their values."""
    yield from _single(values).items()
    for name, value in values.items():
        if isinstance(value, tuple) and counts(value):
            yield f"len({name})", len(value)
            yield f"{name}[0]", value[0]
            yield f"{name}[-1]", value[-1]


def _computed(values: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Expressions of hyperparameters, the plainest first, with their values."""
    single = _single(values)
    for name, value in single.items():
        yield from ((f"{k}*{name}", k * value) for k in FACTORS)
        yield from ((f"{name}//{k}", value // k) for k in FACTORS)
    for (a, x), (b, y) in itertools.permutations(single.items(), 2):
        yield f"{a}*{b}", x * y
        yield f"{a}+{b}", x + y
        yield f"{a}//{b}", x // y


def _single(values: Mapping[str, Any]) -> dict[str, int]:
    """The sizes among values; another than an identifier names no hyperparameter."""
    return {
        n: v for n, v in values.items() if n.isidentifier() and type(v) is int and v > 0
    }


def _of_axes(
    axes: Mapping[str, int], names: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Expressions of other axes."""
    for name in names:
        yield name, axes[name]
    for name in names:
        yield from ((f"{k}*{name}", k * axes[name]) for k in FACTORS)
        yield from ((f"{name}{k:+}", axes[name] + k) for k in (1, -1))
