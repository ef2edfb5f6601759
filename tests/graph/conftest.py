"""The libraries that checks of blox's behaviour run with: this one, and blox where it is installed."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

import pytest

LIBRARIES = ["mlax.graph"]
if importlib.util.find_spec("blox") is not None:
    LIBRARIES.append("blox")


@pytest.fixture(params=LIBRARIES)
def bx(request: pytest.FixtureRequest) -> ModuleType:
    """What a program imports as `bx`."""
    return importlib.import_module(request.param)
