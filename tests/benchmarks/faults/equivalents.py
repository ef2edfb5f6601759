"""Faults that change nothing, with the reason: no test can catch them."""

from __future__ import annotations

from tests.benchmarks.faults.mutations import Fault

EQUIVALENT: tuple[tuple[str, str, str], ...] = (
    (
        "functional/deviations",
        "16",
        "no floating dtype has 17 bits, or 17 for its largest exponent",
    ),
)
"""Item, the changed expression, and why the other one does the same."""


def reason(fault: Fault) -> str:
    """Why a fault changes nothing; empty where it does."""
    for item, before, why in EQUIVALENT:
        if (item, before) == (fault.path, fault.before):
            return why
    return ""
