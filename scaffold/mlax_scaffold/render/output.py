"""The kinds of output: each is a folder beside this module, with an `OUTPUT` in its `files.py`.

Another kind of output is another folder, with templates of its own. Nothing else lists them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.rewrite import Passes, Rewritten, passes_of, rewrite_methods


@dataclass(frozen=True)
class Source:
    """A definition, and all that its files may be made of."""

    definition: Definition
    library: Library
    project: Project

    @cached_property
    def methods(self) -> Mapping[str, Rewritten]:
        """Its methods as bodies of pure functions.

        Raises:
            SpecError: where the text cannot be rewritten.
        """
        return self.rewritten(passes_of)

    def rewritten(self, passes: Passes) -> Mapping[str, Rewritten]:
        """Its methods, rewritten by other passes.

        Raises:
            SpecError: where the text cannot be rewritten.
        """
        return rewrite_methods(self.definition, self.library, passes)


def _nothing(*_: object) -> tuple[Rendered, ...]:
    return ()


@dataclass(frozen=True)
class Output:
    """One kind of output."""

    of_library: Callable[[Library, Project], Iterable[Rendered]] = _nothing
    """The files that follow from all specs together, or from none."""
    of_definition: Callable[[Source], Iterable[Rendered]] = _nothing
    """The Python files of one definition."""
    check: Callable[[Source, Rendered], object] = _nothing
    """Puts one of these through the gate, as it will be written. Raises GateFault, or SpecError."""
    pages: Callable[[Sequence[Definition], Library, Project], Iterable[Rendered]] = (
        _nothing
    )
    """Files of definitions that are no Python, and those of others that may mention these."""
    name: str = "mlax-scaffold"
    """What makes it, as errors say it."""


def outputs() -> tuple[Output, ...]:
    """Every kind of output, in the order of the names of their folders."""
    folder = __name__.rpartition(".")[0]
    package = importlib.import_module(folder)
    names = sorted(
        found.name for found in pkgutil.iter_modules(package.__path__) if found.ispkg
    )
    modules = (f"{folder}.{name}.files" for name in names if name != "gate")
    return tuple(importlib.import_module(module).OUTPUT for module in modules)


class TwiceError(MlaxScaffoldError):
    """Two kinds of output make one file."""


Made = tuple[str, Rendered]
"""The name of what makes a file, and the file."""


def each_once(made: Iterable[Made]) -> None:
    """Check that no file is made twice.

    Raises:
        TwiceError: naming the file, and what makes it.
    """
    makers: dict[str, str] = {}
    for name, file in made:
        other = makers.setdefault(file.path, name)
        if other != name:
            raise TwiceError(
                f"{file.path} is made by {other} and by {name}: one of the two has "
                "to give its files other names"
            )


@dataclass(frozen=True)
class Draft:
    """The Python files of one definition, before they are formatted."""

    source: Source
    parts: tuple[tuple[Output, tuple[Rendered, ...]], ...]

    @property
    def made(self) -> tuple[Made, ...]:
        """All of them, with what makes each."""
        return tuple((kind.name, file) for kind, files in self.parts for file in files)

    @property
    def files(self) -> tuple[Rendered, ...]:
        """All of them."""
        return tuple(file for _, file in self.made)

    def check(self, formatted: Mapping[str, Rendered]) -> None:
        """Put the formatted files through the gate.

        Raises:
            GateFault: they are not what the spec says, or run something at import.
            SpecError: a helper has the name of a variable of the generated module.
        """
        for output, files in self.parts:
            for file in files:
                output.check(self.source, formatted[file.path])


def draft(
    definition: Definition,
    library: Library,
    project: Project,
    others: Iterable[Output] = (),
) -> Draft:
    """Render the Python files of one definition, also those of outputs that plugins add."""
    source = Source(definition, library, project)
    kinds = (*outputs(), *others)
    return Draft(
        source, tuple((kind, tuple(kind.of_definition(source))) for kind in kinds)
    )
