"""What a spec says of axes: causality, independence, permutations. Values decide, of two cases."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import jaxpr_as_fun

from mlax_scaffold.model.invariances import INFERENCE, Invariance
from mlax_scaffold.model.shapes import Named, Variadic, parse_shape
from mlax_scaffold.testing.compare import assert_matches
from mlax_scaffold.testing.contract import Claim
from mlax_scaffold.testing.dims import Shapes, names_of
from mlax_scaffold.testing.dtypes import is_inexact
from mlax_scaffold.testing.programs import quick
from mlax_scaffold.testing.situation import Situation


def claim_of(line: str, returns: str) -> Claim[Situation]:
    """The claim of a line of a spec.

    Args:
        line: such as `causal time if not reverse`.
        returns: the shape annotation of the result; "": that says nothing.
    """
    invariance = Invariance.parse(line)

    def check(situation: Situation) -> None:
        assert_invariance(situation, invariance, returns)

    check.__name__ = f"be_{invariance.kind}_along_{invariance.axis}"
    return Claim(
        check,
        where=lambda situation: _shows(situation, invariance),
        decides=(invariance.field, "mode", *names_of(invariance.axis)),
    )


def _shows(situation: Situation, invariance: Invariance) -> bool:
    """Whether it is claimed of a situation, and there is something to see."""
    case = situation.case
    fields = {**(case.hyperparameters or {}), INFERENCE: not situation.training}
    shapes = case.shapes
    if shapes is None or not invariance.holds(fields):
        return False
    if invariance.kind == "permutable":
        # What is drawn is drawn for a position, and a mask has others: of keys beside queries.
        masked = any(_broadcasts(shapes, label) for label in _left_out(situation))
        if masked or situation.arrays[-1] is not None:
            return False
    return any(axis is not None for _, axis in _inputs(situation, invariance.axis))


def assert_invariance(
    situation: Situation, invariance: Invariance, returns: str
) -> None:
    """Raise AssertionError where results change with what they do not depend on. It compiles."""
    with situation.precision():
        given = situation.drawn()
        changed, size = _changed(situation, invariance, given)
        program = jaxpr_as_fun(situation.forward.jaxpr)
        run = jax.jit(lambda args: program(*args)[0], compiler_options=quick())
        before, after = (np.asarray(run(values)) for values in (given, changed))
    shapes = situation.case.shapes
    axes = _axes(returns, invariance.axis, shapes)[0] if returns and shapes else []
    axis = next((a for a in axes if before.shape[a] == size), None)
    if invariance.kind == "permutable":
        before = before if axis is None else np.roll(before, 1, axis)
    else:
        assert axis is not None, f"{situation}: y has no axis `{invariance.axis}`"
        kept = _kept(invariance.kind, size)
        before, after = (np.take(v, kept, axis) for v in (before, after))
    what = f"{situation}: y, where `{invariance.axis}` is {_DONE[invariance.kind]},"
    assert_matches(before, after, situation.compute_dtype, what=what)


def _changed(
    situation: Situation, invariance: Invariance, given: Sequence[Any]
) -> tuple[list[Any], int]:
    """Arrays that differ in what results do not depend on, and the size of the axis."""
    changed, others, size = list(given), situation.drawn(seed=2), 0
    for position, axis in _inputs(situation, invariance.axis):
        if axis is None:
            continue
        value, size = np.asarray(given[position]), given[position].shape[axis]
        if invariance.kind == "permutable":
            value = np.roll(value, 1, axis)
        elif is_inexact(value):
            kept = _kept(invariance.kind, size)
            value = _mixed(value, np.asarray(others[position]), kept, axis)
        changed[position] = jax.device_put(value)
    return changed, size


_DONE = {
    "causal": "changed behind it",
    "independent": "changed beside it",
    "permutable": "permuted",
}


def _kept(kind: str, size: int) -> np.ndarray:
    """The positions that stay as they are: those before the middle, or one."""
    return np.arange(size // 2 if kind == "causal" else 1)


def _mixed(
    value: np.ndarray, other: np.ndarray, kept: np.ndarray, axis: int
) -> np.ndarray:
    mixed = np.moveaxis(other, axis, 0).copy()
    mixed[kept] = np.moveaxis(value, axis, 0)[kept]
    return np.moveaxis(mixed, 0, axis)


def _inputs(situation: Situation, name: str) -> Iterator[tuple[int, int | None]]:
    """The place of each input among all arrays, and its axis of that name with several positions.

    A name may stand for several axes: the first is meant along which an input has several positions.
    What broadcasts to the others has the same axis, or one of size 1, or none.
    """
    found = [*_named(situation, name)]
    own = [axes for _, axes, whole in found if whole]
    several = [i for axes in own for i, (_, size) in enumerate(axes) if size > 1] or [0]
    for place, axes, _ in found:
        axis, size = axes[several[0]] if several[0] < len(axes) else (None, 1)
        yield place, axis if size > 1 else None


def _named(
    situation: Situation, name: str
) -> Iterator[tuple[int, list[tuple[int, int]], bool]]:
    """The place of each input, its axes of that name with their sizes, and whether it broadcasts to none."""
    case, arrays = situation.case, situation.arrays
    shapes = case.shapes
    assert shapes is not None
    before = len(jax.tree.leaves(arrays[:3])) - len(jax.tree.leaves(arrays[0]))
    first = jax.tree.leaves(case.x)
    places = dict(enumerate(first))
    for i, leaf in enumerate(jax.tree.leaves(dict(case.inputs))):
        places[len(first) + before + i] = leaf
    for place, leaf in places.items():
        for label, array in shapes.arrays.items():
            pattern = shapes.patterns.get(label)
            if array is leaf and isinstance(pattern, str):
                axes, rank = _axes(pattern, name, shapes)
                broadcast = _broadcasts(shapes, label)
                # Axes that it lacks are the first ones.
                lacks = rank - leaf.ndim if broadcast else 0
                sizes = [
                    (a - lacks, leaf.shape[a - lacks] if a >= lacks else 1)
                    for a in axes
                ]
                yield place, sizes, not broadcast


def _left_out(situation: Situation) -> list[str]:
    """The inputs that are given, and may be left out."""
    entries = situation.spec.load()._entries_[situation.case.entry]
    parameters = inspect.signature(entries).parameters
    given = situation.case.inputs
    return [n for n in given if n in parameters and parameters[n].default is None]


def _broadcasts(shapes: Shapes, label: str) -> bool:
    pattern = shapes.patterns.get(label)
    if not isinstance(pattern, str):
        return False
    return parse_shape(pattern).resolve(shapes.fields).broadcast


def _axes(pattern: str, name: str, shapes: Shapes) -> tuple[list[int], int]:
    """The axes of a name in a shape, and how many it has of all; none where these cannot be counted."""
    shape = parse_shape(pattern).resolve(shapes.fields)
    found: list[int] = []
    place = 0
    for dim in shape.dims:
        match dim:
            case Variadic(own):
                sizes = shapes.sizes.get(own)
                if not isinstance(sizes, tuple):
                    return [], 0
                count = len(sizes)
            case Named(own):
                count = 1
            case _:
                if str(dim) == "...":
                    return [], 0
                own, count = "", 1
        if own == name and not found:
            found = [*range(place, place + count)]
        place += count
    return found, place
