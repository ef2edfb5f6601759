"""Small specs as a generated package that can be imported, and as the classes that run eagerly."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render.formatting import format_python
from mlax_scaffold.render.gate.bodies import check_module
from mlax_scaffold.render.package import files as package
from mlax_scaffold.rewrite import rewrite_methods
from mlax_scaffold.spec.loading import load

PROJECT = Project("rewritten_examples", "specs", "rewritten_examples", "tests", "docs")


@dataclass(frozen=True)
class Examples:
    """Specs: read, generated into an importable package, and as files."""

    root: Path

    def module(self, section: str, name: str) -> Any:
        """The generated module."""
        return importlib.import_module(f"{PROJECT.package}.{section}.{name}")

    def oracle(self, section: str, name: str) -> Any:
        """The class of the spec."""
        return load(self.root / "specs" / section / f"{name}.py", self.root)


def generated(library: Library) -> tuple[Rendered, ...]:
    """The package, formatted and checked, without tests and pages."""
    files = list(package.support(library, PROJECT))
    checked = {}
    for definition in library:
        methods = rewrite_methods(definition, library)
        file = package.module(definition, library, methods, PROJECT)
        files.append(file)
        checked[file.path] = definition, methods
    formatted = format_python(files, PROJECT.package)
    for file in formatted:
        if file.path in checked:
            definition, methods = checked[file.path]
            check_module(definition, methods, file)
    return formatted


@contextmanager
def importable(
    specs: Iterable[SpecFile], built_in: tuple[SpecFile, ...], root: Path
) -> Iterator[Examples]:
    """The package of some specs, in a folder that modules are imported from."""
    specs = tuple(specs)
    files = {file.path: file.text for file in specs}
    library = read_library(specs, built_in)
    files |= {rendered.path: rendered.text for rendered in generated(library)}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    sys.path.insert(0, str(root))
    try:
        yield Examples(root)
    finally:
        sys.path.remove(str(root))
        for name in [
            m for m in sys.modules if m.partition(".")[0] in ("specs", PROJECT.package)
        ]:
            del sys.modules[name]


def results_of(program: Any, primitive: str) -> Iterator[Any]:
    """What the operations of a name make, in the programs inside of one, too."""
    for eqn in program.eqns:
        if eqn.primitive.name == primitive:
            yield eqn.outvars[0].aval
        for value in jax.tree.leaves([*eqn.params.values()], is_leaf=_is_program):
            if _is_program(value):
                yield from results_of(getattr(value, "jaxpr", value), primitive)


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")
