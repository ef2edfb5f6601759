"""Imports a spec by its path, to run it eagerly."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

import mlax_scaffold
from mlax_scaffold.errors import UsageError
from mlax_scaffold.spec.functions import IS_SPEC
from mlax_scaffold.spec.layer import Layer
from mlax_scaffold.spec.optimizer import Optimizer
from mlax_scaffold.spec.schedule import Schedule

_LIBRARY = Path(mlax_scaffold.__file__).parent / "specs"


def load(path: str | Path, root: str | Path | None = None, name: str = "") -> Any:
    """The definition of the spec at `path`: its class, or its function.

    This executes the spec: it is meant for the tests of specs that one trusts.

    Args:
        path: the file of the spec.
        root: the folder that imports of the spec's own project start from.
        name: of the definition; empty: the last one of the file.

    Raises:
        UsageError: the file holds no such definition.
    """
    path = Path(path).resolve()
    if path.is_relative_to(_LIBRARY):
        # Under its own name, so that specs that import one another share classes.
        parts = path.relative_to(_LIBRARY).with_suffix("").parts
        module = importlib.import_module(".".join(("mlax_scaffold", "specs", *parts)))
    else:
        module = _execute(path, root)
    definitions = [
        value
        for value in vars(module).values()
        if _is_definition(value) and value.__module__ == module.__name__
    ]
    found = [d for d in definitions if name in ("", d.__name__)]
    if not found:
        raise UsageError(f"{path.name} holds no definition {name}".rstrip())
    return found[-1]


def _is_definition(value: Any) -> bool:
    """Whether it is a class or a function that a spec defines, and none of its helpers."""
    if inspect.isclass(value):
        return issubclass(value, Layer | Optimizer | Schedule)
    return inspect.isfunction(value) and hasattr(value, IS_SPEC)


def _execute(path: Path, root: str | Path | None) -> Any:
    module = _executed(path, root, path.read_bytes())
    # Another project may have a spec of that name.
    sys.modules[module.__name__] = module
    return module


@functools.lru_cache(maxsize=64)
def _executed(path: Path, root: str | Path | None, text: bytes) -> Any:
    """The module of a file with that text.

    What classes declare is kept by class, so that each case of a test would find it out anew of
    classes that were made anew.
    """
    name = f"_mlax_scaffold_spec_{path.parent.name}_{path.stem}"
    if root is not None and path.is_relative_to(root):
        # Relative imports are those of its folder.
        name = ".".join((*path.relative_to(root).parent.parts, name))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if root is not None:
        sys.path.insert(0, str(root))
    try:
        spec.loader.exec_module(module)
    finally:
        if root is not None:
            sys.path.remove(str(root))
    return module
