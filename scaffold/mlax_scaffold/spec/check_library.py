"""Reads every spec and checks how they refer to each other: all errors of all specs in one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from mlax_scaffold.errors import Diagnostic, Location, SpecError, did_you_mean
from mlax_scaffold.model.definition import (
    OPTIMIZER_TOOLS,
    Definition,
    Import,
    Kind,
    Reference,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.spec.check_draws import check_draws
from mlax_scaffold.spec.check_parts import check_parts
from mlax_scaffold.spec.check_shapes import check_shapes
from mlax_scaffold.spec.files import LIBRARY_SPECS, SpecFile
from mlax_scaffold.spec.parse_keywords import MODULES
from mlax_scaffold.spec.reader import module_name, read_spec


@cache
def library_words() -> frozenset[str]:
    """Names of the library's functions, which specs import from `mlax_scaffold.spec`."""
    return frozenset(path.stem for path in (LIBRARY_SPECS / "functional").glob("*.py"))


def read_library(
    own: tuple[SpecFile, ...],
    built_in: tuple[SpecFile, ...] = (),
    *,
    document_fields: bool = False,
) -> Library:
    """Read the project's specs, with those of the built-in library that they are built on.

    Args:
        own: the project's specs.
        built_in: those of the library.
        document_fields: whether a field of the project's specs must have a comment.

    Raises:
        SpecError: with every error of every spec.
    """
    words = library_words()
    diagnostics: list[Diagnostic] = []
    definitions: dict[Reference, Definition] = {}
    modules: dict[tuple[str, str], Definition] = {}
    unread: set[tuple[str, str]] = set()
    for file in own:
        definition, found = read_spec(file.path, file.text, words)
        diagnostics += found
        if definition is None:
            unread.add((file.section, Path(file.path).stem))
            continue
        diagnostics += _misplaced(definition, file)
        diagnostics += check_shapes(definition)
        if document_fields:
            diagnostics += _undocumented(definition)
        other = modules.setdefault((definition.section, definition.module), definition)
        if other is not definition:
            diagnostics.append(_twice(definition, other))
        definitions.setdefault(definition.reference, definition)
    available = {(f.section, Path(f.path).stem): f for f in built_in}
    _add_built_in(definitions, available, words)
    known = set(definitions) | {Reference(section, stem) for section, stem in available}
    for definition in definitions.values():
        diagnostics += _unresolved(definition, definitions, known, unread)
    if not diagnostics:
        diagnostics += _cycles(definitions)
        diagnostics += _same_modules(definitions.values())
    if diagnostics:
        raise SpecError(diagnostics)
    library = Library(definitions)
    diagnostics = [
        d
        for definition in library
        for check in (check_draws, check_parts)
        for d in check(definition, library)
    ]
    if diagnostics:
        raise SpecError(diagnostics)
    return library


def _add_built_in(
    definitions: dict[Reference, Definition],
    available: Mapping[tuple[str, str], SpecFile],
    words: frozenset[str],
) -> None:
    """Add the built-in specs that the definitions are built on, directly or not."""
    pending = list(definitions.values())
    while pending:
        for imported in pending.pop().imports:
            reference = imported.reference
            if reference is None or reference in definitions:
                continue
            file = available.get((reference.section, module_name(reference.name)))
            if file is None:
                continue
            definition, problems = read_spec(file.path, file.text, words)
            if definition is None:
                raise SpecError(problems)
            definitions[reference] = definition
            pending.append(definition)


def _misplaced(definition: Definition, file: SpecFile) -> list[Diagnostic]:
    section = definition.kind.section
    if file.section in definition.kind.sections:
        return []
    return [
        _at(
            definition,
            f"{definition.name} is a {definition.kind.name.lower()}, in {file.section}/",
            f"Move the file to {section}/.",
        )
    ]


def _twice(definition: Definition, other: Definition) -> Diagnostic:
    """The finding of a definition whose outputs are those of another one."""
    if definition.name == other.name:
        message = f"{definition.name} is defined in {other.source}, too"
    else:
        message = (
            f"the module of {definition.name} is {definition.module}, like that of "
            f"{other.name} in {other.source}"
        )
    return _at(definition, message, "Rename one of the two, or remove its file.")


def _undocumented(definition: Definition) -> list[Diagnostic]:
    lines = definition.text.split("\n")
    return [
        Diagnostic(
            h.location,
            f"the hyperparameter `{h.name}` is not documented",
            "Add a `#: ...` comment after it; this project has `document_fields = true`.",
            lines[h.location.line - 1],
            len(h.name),
        )
        for h in (*definition.hyperparameters, *definition.initializers)
        if not h.doc
    ]


def _unresolved(
    definition: Definition,
    definitions: Mapping[Reference, Definition],
    known: set[Reference],
    unread: set[tuple[str, str]],
) -> list[Diagnostic]:
    found = []
    for imported in definition.imports:
        reference = imported.reference
        if reference is not None and reference == definition.reference:
            found.append(
                _at(
                    definition,
                    f"{definition.name} imports itself",
                    "Remove the import.",
                    find=f"import {reference.name}",
                )
            )
        if reference is None:
            continue
        other = definitions.get(reference)
        if other is not None:
            if imported.file and imported.file != Path(other.source).stem:
                found.append(_elsewhere(definition, imported, other))
            continue
        stem = imported.file or module_name(reference.name)
        if (reference.section, stem) in unread:
            continue  # that spec has errors of its own
        names = [r.name for r in known if r.section == reference.section]
        found.append(
            _at(
                definition,
                f"there is no spec of {reference}",
                did_you_mean(reference.name, sorted(names)),
                find=f"import {reference.name}",
            )
        )
    return found


def _elsewhere(
    definition: Definition, imported: Import, other: Definition
) -> Diagnostic:
    return _at(
        definition,
        f"there is no {imported.name} in {imported.module}/{imported.file}.py",
        f"It is in {other.source}: import it from there.",
        find=f"import {imported.name}",
    )


def _cycles(definitions: Mapping[Reference, Definition]) -> list[Diagnostic]:
    done: set[Reference] = set()
    found: list[Diagnostic] = []

    def visit(definition: Definition, path: tuple[Reference, ...]) -> None:
        reference = definition.reference
        if reference in path:
            loop = " -> ".join(
                str(r) for r in (*path[path.index(reference) :], reference)
            )
            found.append(_at(definition, f"specs are built on each other: {loop}", ""))
            return
        if reference in done:
            return
        for imported in definition.imports:
            target = definitions.get(imported.reference) if imported.reference else None
            if target is not None:
                visit(target, (*path, reference))
        done.add(reference)

    for definition in definitions.values():
        visit(definition, ())
    return found


def _same_modules(definitions: Iterable[Definition]) -> list[Diagnostic]:
    """Module classes of one name: all are in one package."""
    found: list[Diagnostic] = []
    taken: dict[str, Definition] = {}
    for definition in sorted(definitions, key=lambda d: d.source):
        if definition.kind is Kind.OPTIMIZER and definition.module in OPTIMIZER_TOOLS:
            found.append(
                _at(
                    definition,
                    f"{definition.module} is a function of optim already",
                    "Choose another name: that of its module is the same.",
                )
            )
        if definition.kind not in (Kind.LAYER, Kind.BLOCK):
            continue
        other = taken.setdefault(definition.module_name, definition)
        if other is not definition or definition.module_name in MODULES:
            where = "" if other is definition else f", of {other.source}"
            found.append(
                _at(
                    definition,
                    f"there is a module class {definition.module_name} already{where}",
                    f'Give it another name: `class {definition.name}(..., module="...")`.',
                )
            )
    return found


def _at(definition: Definition, message: str, hint: str, find: str = "") -> Diagnostic:
    """A finding at the line of the spec that holds `find`, else at the definition."""
    lines = definition.text.split("\n")
    needles = [find] if find else [f"class {definition.name}", f"def {definition.name}"]
    for number, line in enumerate(lines, 1):
        for needle in needles:
            if needle and needle in line:
                column = line.index(needle) + 1
                place = Location(definition.source, number, column)
                return Diagnostic(place, message, hint, line, len(needle))
    return Diagnostic(Location(definition.source, 1, 1), message, hint)
