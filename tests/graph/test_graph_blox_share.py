"""How many of the checks of blox's behaviour this library passes as they are."""

from __future__ import annotations

import importlib
from pathlib import Path

CHECKS = [
    check
    for path in sorted(Path(__file__).parent.glob("test_graph_blox_*.py"))
    if path != Path(__file__)
    for name, check in vars(importlib.import_module(path.stem)).items()
    if name.startswith("test_")
]


def test_most_pass_as_they_are():
    """As docs/from-blox.md says."""
    different = [check for check in CHECKS if hasattr(check, "differs")]
    assert (len(CHECKS), len(different)) == (182, 29)
