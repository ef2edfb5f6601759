"""The source of layers and of all that they need, as text, under another package's name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import GENERATED, Project
from mlax_scaffold.owning.place import Place
from mlax_scaffold.project.lookup import find_named, full_names
from mlax_scaffold.project.workspace import BUILT_IN
from mlax_scaffold.reader.files import SpecFile, library_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render
from mlax_scaffold.render.modules import file_name

_UNUSED = "unused"
"""The folder of pages, which are not brought."""


@dataclass(frozen=True)
class Bundle:
    """Files as they would be brought, by their paths below the project's root."""

    library: Library
    wanted: tuple[Definition, ...]
    texts: Mapping[str, str]
    needs: Mapping[str, frozenset[str]]
    """The paths of the modules that each wanted definition is made of, by its full name."""


def find_specs_of(names: Sequence[str]) -> tuple[SpecFile, ...]:
    """The specs of the library with these names: `Linear`, or `schedule.Linear`.

    Where several have the name, it is that of the layer.

    Raises:
        UsageError: there is none, or there are several and none is a layer.
    """
    known = {
        full: file for file in library_specs(BUILT_IN) for full in full_names(file)
    }
    found = (
        find_named(
            name,
            known,
            absent="the library has no",
            last="its pages list what there is",
            preferred=Kind.LAYER.section,
        )
        for name in names
    )
    return tuple(dict.fromkeys(found))


def make_bundle(
    names: Sequence[str], place: Place, *, modules: bool, contracts: bool
) -> Bundle:
    """The source of definitions of the library.

    Args:
        names: which ones.
        place: where they go.
        modules: whether layers bring their module classes.
        contracts: whether they bring contracts as tests.
    """
    files = find_specs_of(names)
    known = library_specs(BUILT_IN)
    library = read_library(files, tuple(f for f in known if f not in files))
    project = Project(
        place.package, "specs", place.folder, place.tests, _UNUSED, modules=modules
    )
    rendered = {o.path: o.text for o in render(library, project)}
    sources = {f.path for f in files}
    wanted = tuple(d for d in library if d.source in sources)
    needed = _closure(rendered, place, _roots(wanted, place, modules=modules))
    texts = {path: _owned(rendered[path]) for path in needed}
    needs = {
        str(d.reference): frozenset(
            path
            for path in _closure(rendered, place, (_module(d, place),))
            if not path.endswith("/__init__.py")
        )
        for d in wanted
    }
    if contracts:
        for definition in wanted:
            path = test_of(definition, place)
            texts[path] = _owned(rendered[path])
    return Bundle(library, wanted, texts, needs)


def test_of(definition: Definition, place: Place) -> str:
    """The path of a definition's tests."""
    section, module = definition.section, definition.module
    return f"{place.tests}/{section}/test_{section}_{module}.py"


def _module(definition: Definition, place: Place) -> str:
    return f"{place.folder}/{definition.section}/{file_name(definition)}"


def _roots(
    wanted: Iterable[Definition], place: Place, *, modules: bool
) -> Iterator[str]:
    for definition in wanted:
        yield f"{place.folder}/{definition.section}/__init__.py"
        yield _module(definition, place)
        if modules and definition.kind.is_layer:
            graph = f"{place.folder}/graph"
            yield f"{graph}/{definition.section}/{definition.module}.py"
            yield f"{graph}/__init__.py"


def _closure(
    files: Mapping[str, str], place: Place, roots: Iterable[str]
) -> tuple[str, ...]:
    """The files that some import, directly or not; not the package's own `__init__`."""
    found: dict[str, None] = {}
    waiting = list(roots)
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        for name in _imported(files[path], path):
            waiting += _places(name, files, place)
    return tuple(sorted(found))


def _imported(text: str, path: str) -> Iterator[str]:
    """Dotted names that a module imports, those inside of its own package too."""
    folder = path.split("/")[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = folder[: len(folder) - node.level + 1]
                base = "/".join(above) + (f"/{base.replace('.', '/')}" if base else "")
            yield base
            separator = "/" if node.level else "."
            yield from (f"{base}{separator}{alias.name}" for alias in node.names)


def _places(name: str, files: Mapping[str, str], place: Place) -> Iterator[str]:
    """The files that importing a name runs, other than the package's own `__init__`."""
    if "/" not in name:
        if not f"{name}.".startswith(f"{place.package}."):
            return
        name = place.folder + name.removeprefix(place.package).replace(".", "/")
    rest = name.removeprefix(place.folder).strip("/").split("/")
    for number in range(1, len(rest) + 1):
        part = "/".join([place.folder, *rest[:number]])
        for path in (f"{part}.py", f"{part}/__init__.py"):
            if path in files:
                yield path


def _owned(text: str) -> str:
    """The text under a header that says whose it is."""
    lines = text.split("\n")
    if not lines[0].startswith(f"# {GENERATED}"):
        return text
    origin = lines[0].removeprefix(f"# {GENERATED}").strip(" .:")
    origin = origin.removeprefix("from ").removeprefix(
        "a copy of its templates/package/"
    )
    of = f", {origin}" if origin else ""
    header = [
        f"# From mlax-scaffold{of}. Yours to edit:",
        "# `mlax-scaffold update` merges later versions into it.",
    ]
    return "\n".join([*header, *lines[2:]])
