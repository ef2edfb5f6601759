"""The runtime of generated packages, which eager specs share: it stands in the templates as plain Python."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from mlax_scaffold.model.project import template_root

_NAME = f"{__name__}_package"


def runtime(module: str) -> Any:
    """A module of the runtime, such as `_core.checks`, as a generated package has it."""
    if _NAME not in sys.modules:
        package = ModuleType(_NAME)
        package.__path__ = [str(template_root() / "package")]
        sys.modules[_NAME] = package
    return importlib.import_module(f"{_NAME}.{module}")
