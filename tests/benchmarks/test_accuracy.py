"""The measured errors that the reference pages show hold, on this machine too.

A page without figures says nothing of errors, and a new spec has none. Figures that are
there are those of a spec that is there, as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from . import accuracy

FIGURES = json.loads(accuracy.FIGURES.read_text(encoding="utf-8"))
COMMAND = (
    "PYTHONPATH=scaffold:generated_layers python -m tests.benchmarks.accuracy --write"
)
FACTOR = 2.0


@cache
def measured() -> Mapping[str, Any]:
    """The definitions that are measured, by their names in the figures."""
    found = accuracy.definitions()
    return {accuracy.place(d): d for d in found if not d.structural()}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_hold(name: str) -> None:
    assert name in measured(), f"run {COMMAND}"
    stored = FIGURES[name]
    # One of the two dtypes, which depends on the name: both would take twice as long.
    dtype = accuracy.HALVES[len(name) % 2]
    with jax.enable_x64(True):
        found = accuracy.Subject.of(measured()[name]).measure((dtype,))
    assert found["inputs"] == stored["inputs"], f"{name} has changed: run {COMMAND}"
    # Less than the rounding of one number is luck, of a result that is one number.
    least = float(jnp.finfo(dtype).eps) / 2.0
    assert found[dtype].keys() == stored[dtype].keys()
    for key, values in found[dtype].items():
        pairs: Any = zip(values, stored[dtype][key], strict=True)
        for now, then in pairs:
            low, high = sorted((max(now, least), max(then, least)))
            assert high <= FACTOR * low, f"{name}, {dtype}, {key}: {then}, now {now}"
