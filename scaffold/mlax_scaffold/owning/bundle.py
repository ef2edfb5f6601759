"""The source of layers and of all that they need, as text, under another package's name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.errors import UsageError, did_you_mean
from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import GENERATED, Project
from mlax_scaffold.owning.place import Place
from mlax_scaffold.project.workspace import BUILT_IN, name_in
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
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


def find_specs_of(names: Sequence[str]) -> tuple[SpecFile, ...]:
    """The specs of the library with these names: `Linear`, or `schedule.Linear`.

    Where several have the name, it is that of the layer.

    Raises:
        UsageError: there is none, or there are several and none is a layer.
    """
    known = find_specs(LIBRARY_SPECS, BUILT_IN)
    return tuple(_find(name, known) for name in dict.fromkeys(names))


def _find(name: str, known: Sequence[SpecFile]) -> SpecFile:
    found = [f for f in known if name in (name_in(f), full_name(f))]
    if len(found) == 1:
        return found[0]
    layers = [f for f in found if f.section == Kind.LAYER.section]
    if layers:
        return layers[0]
    if found:
        several = " and ".join(map(full_name, found))
        raise UsageError(f'"{name}" may be {several}: write one of these')
    folded = [name_in(f) for f in known if name_in(f).lower() == name.lower()]
    names = [*map(name_in, known), *map(full_name, known)]
    close = f'did you mean "{folded[0]}"?' if folded else did_you_mean(name, names)
    raise UsageError(
        f'the library has no "{name}"; {close or "its pages list what there is"}'
    )


def full_name(file: SpecFile) -> str:
    """`nn.Linear`."""
    return f"{file.section}.{name_in(file)}"


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
    known = find_specs(LIBRARY_SPECS, BUILT_IN)
    library = read_library(files, tuple(f for f in known if f not in files))
    project = Project(
        place.package, "specs", place.folder, place.tests, _UNUSED, modules=modules
    )
    rendered = {o.path: o.text for o in render(library, project)}
    sources = {f.path for f in files}
    wanted = tuple(d for d in library if d.source in sources)
    needed = _closure(rendered, place, _roots(wanted, place, modules=modules))
    texts = {path: _owned(rendered[path]) for path in needed}
    if contracts:
        for definition in wanted:
            path = (
                f"{place.tests}/{definition.section}/test_{definition.section}_"
                f"{definition.module}.py"
            )
            texts[path] = _owned(rendered[path])
    return Bundle(library, wanted, texts)


def _roots(
    wanted: Iterable[Definition], place: Place, *, modules: bool
) -> Iterator[str]:
    for definition in wanted:
        section = f"{place.folder}/{definition.section}"
        yield f"{section}/__init__.py"
        yield f"{section}/{file_name(definition)}"
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
