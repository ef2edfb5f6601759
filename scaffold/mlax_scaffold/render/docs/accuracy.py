"""What a reference page says of the measured error of strict and of widened arithmetic.

The figures are data: `python -m tests.benchmarks.accuracy --write` measures and writes
them, rendering reads them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.render.docs.markdown import code, prose, table

FIGURES = Path(__file__).with_name("measured_errors.json")
OPTION = "accum_dtype"
LIBRARY = "mlax_scaffold/specs/"
"""What the paths of the specs of the library have in them; others are not measured."""

_KINDS = (Kind.LAYER, Kind.BLOCK, Kind.FUNCTION)


def accumulates(definition: Definition) -> bool:
    """Whether the arithmetic of a definition can be widened by `accum_dtype`."""
    options = {h.name for h in definition.hyperparameters if h.type.word.declares_dtype}
    return definition.kind in _KINDS and OPTION in options


def place(definition: Definition) -> str:
    """The name of a definition in the file of figures."""
    return f"{definition.section}/{definition.module}"


def accuracy(definition: Definition) -> Iterator[str]:
    """The paragraph and the table; nothing where nothing was measured."""
    measured = _figures().get(place(definition))
    known = f"/{definition.source}".find(f"/{LIBRARY}") >= 0
    if measured is None or not known or not accumulates(definition):
        return
    yield (
        "Measured error, as root mean square relative to that of the exact result "
        f"(computed in float64 from the same numbers), of {prose(measured['inputs'])}:"
    )
    rows = [
        (f"`{dtype}`", what, *map(_figure, measured[dtype][key]))
        for dtype in ("float16", "bfloat16")
        for what, key in (("result", "result"), ("gradient", "gradient"))
        if measured[dtype].get(key)
    ]
    head = ("input", "of the", code(f"{OPTION}=None"), code(f'{OPTION}="float32"'))
    yield table(head, rows)


def _figure(value: float) -> str:
    return f"{value:.1e}" if value else "0"


@functools.cache
def _figures() -> Mapping[str, Any]:
    return json.loads(FIGURES.read_text(encoding="utf-8"))
