"""Whether results are floating, complex, integers or booleans, as the spec annotates them."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.spec.entries import returned
from mlax_scaffold.spec.words import ArrayWord
from mlax_scaffold.testing.situation import Situation


def have_the_annotated_kinds(situation: Situation) -> None:
    """Results are floating, complex, integers or booleans as annotated, where that says it."""
    annotation = returned(situation.spec.load(), situation.case.entry)
    for place, kind, value in _kinds(annotation, situation.forward.out[0], "y"):
        if not any(jnp.issubdtype(value.dtype, dtype) for dtype in _KINDS[kind]):
            raise AssertionError(
                f"{situation}: {place} is {value.dtype}, and annotated as {kind}"
            )


_KINDS = {
    name: tuple(getattr(jnp, dtype) for dtype in kind.dtypes)
    for name, kind in KINDS.items()
}


def _kinds(annotation: Any, y: Any, place: str) -> Iterator[tuple[str, str, Any]]:
    """Each array of a result whose kind is annotated, its place, and that kind."""
    if isinstance(annotation, ArrayWord):
        if annotation.name in _KINDS and y is not None:
            yield place, annotation.name, y
        return
    parts = typing.get_args(annotation)
    whole = isinstance(y, tuple | list) and len(parts) == len(y)
    if typing.get_origin(annotation) is tuple and whole:
        for i, (part, value) in enumerate(zip(parts, y, strict=True)):
            yield from _kinds(part, value, f"{place}[{i}]")
