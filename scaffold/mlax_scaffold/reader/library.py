"""Reads every spec and checks how they refer to each other: all errors of all specs in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from mlax_scaffold.errors import Diagnostic, SpecError
from mlax_scaffold.model.definition import (
    OPTIMIZER_TOOLS,
    SECTIONS,
    Definition,
    Import,
    Kind,
    Reference,
)
from mlax_scaffold.model.library import Library
from mlax_scaffold.reader.checks.arguments import check_layer_arguments
from mlax_scaffold.reader.checks.carries import check_carries
from mlax_scaffold.reader.checks.cells import check_cells
from mlax_scaffold.reader.checks.entries import check_entries
from mlax_scaffold.reader.checks.invariances import check_invariances
from mlax_scaffold.reader.checks.parts import check_parts
from mlax_scaffold.reader.checks.places import check_places
from mlax_scaffold.reader.checks.positional import check_positional_hyperparameters
from mlax_scaffold.reader.checks.read_of_given import check_read_of_given
from mlax_scaffold.reader.checks.results import check_results
from mlax_scaffold.reader.checks.shapes import check_shapes
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.reader.kept import Found, Shelf, read_all, read_once
from mlax_scaffold.reader.keywords import MODULES
from mlax_scaffold.reader.remedies.elsewhere import imported_from_home
from mlax_scaffold.reader.shared_classes import with_homes
from mlax_scaffold.reader.smooth import check_smooth_at
from mlax_scaffold.spelling import did_you_mean

CHECKS = (
    check_layer_arguments,
    check_entries,
    check_carries,
    check_cells,
    check_parts,
    check_places,
    check_positional_hyperparameters,
    check_read_of_given,
    check_results,
)
"""What is checked of each definition, once all are read."""


@cache
def library_words() -> frozenset[str]:
    """Names of the library's functions, which specs import from `mlax_scaffold.spec`."""
    return frozenset(path.stem for path in (LIBRARY_SPECS / "functional").glob("*.py"))


def read_library(
    own: tuple[SpecFile, ...],
    built_in: tuple[SpecFile, ...] = (),
    *,
    document_fields: bool = False,
    foreign: bool = False,
    shelf: Shelf | None = None,
) -> Library:
    """Read the project's specs, with those of the built-in library that they are built on.

    Args:
        own: the project's specs.
        built_in: those of the library.
        document_fields: whether a field of the project's specs must have a comment.
        foreign: whether the project's specs may import other modules than jax and NumPy.
        shelf: where readings are kept for the next process.

    Raises:
        SpecError: with every error of every spec.
    """
    words = library_words()
    diagnostics: list[Diagnostic] = []
    definitions: dict[Reference, Definition] = {}
    modules: dict[tuple[str, str], Definition] = {}
    unread: set[tuple[str, str]] = set()
    others = [f for f in built_in if f.origin]
    texts = {(f.section, Path(f.path).stem): f.text for f in (*others, *own)}
    given = [(file.path, file.text) for file in own]
    readings = read_all(given, words, foreign=foreign, files=texts, shelf=shelf)
    for file, (read, found) in zip(own, readings, strict=True):
        diagnostics += found
        if not read:
            unread.add((file.section, Path(file.path).stem))
            continue
        diagnostics += _misplaced(read[-1], file)
        for definition in map(_said_by_its_code, read) if foreign else read:
            diagnostics += check_shapes(definition)
            diagnostics += check_invariances(definition)
            diagnostics += check_smooth_at(definition)
            if document_fields:
                diagnostics += _undocumented(definition)
            place = definition.section, definition.module
            other = modules.setdefault(place, definition)
            if other is not definition:
                diagnostics.append(_twice(definition, other))
            definitions.setdefault(definition.reference, definition)
    available = {(f.section, Path(f.path).stem): f for f in built_in}
    read = partial(read_once, words=words, foreign=foreign, shelf=shelf)
    _add_built_in(definitions, available, read)
    packs = {f.path: ".".join(f.path.split("/")[:-2]) for f in built_in if f.origin}
    known = set(definitions) | {Reference(section, stem) for section, stem in available}
    for definition in definitions.values():
        diagnostics += _unresolved(definition, definitions, known, unread, packs)
    if not diagnostics:
        diagnostics += _cycles(definitions)
        diagnostics += _same_modules(definitions.values())
    if diagnostics:
        raise SpecError(_told_once(diagnostics))
    library = Library(with_homes(definitions))
    # Definitions of one file may tell the same of what stands beside them.
    found = (
        d
        for definition in library
        for check in CHECKS
        for d in check(definition, library)
    )
    diagnostics = [*dict.fromkeys(found)]
    if diagnostics:
        raise SpecError(diagnostics)
    return library


def _told_once(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Findings without those of what is inherited that are told of the base itself."""
    told = {(d.message, d.hint) for d in diagnostics if not d.inherited}
    return [
        d for d in diagnostics if not d.inherited or (d.message, d.hint) not in told
    ]


def _said_by_its_code(definition: Definition) -> Definition:
    """A definition of one's own: who stops a gradient, or names a dtype, need not say it twice."""
    definition = replace(definition, own_dtypes=definition.named_dtypes)
    if definition.surrogate_gradient is not None:
        return definition
    return replace(definition, surrogate_gradient=definition.stops_gradients)


def _add_built_in(
    definitions: dict[Reference, Definition],
    available: Mapping[tuple[str, str], SpecFile],
    read: Callable[[str, str], Found],
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
            found, problems = read(file.path, file.text)
            if not found:
                raise SpecError(problems)
            definition = found[-1]
            definitions[reference] = definition
            pending.append(definition)


def _misplaced(definition: Definition, file: SpecFile) -> list[Diagnostic]:
    section = definition.kind.section
    # A loss that has weights is a layer: its module is one of `nn`.
    functions = SECTIONS[file.section] is Kind.FUNCTION
    if file.section in definition.kind.sections or (
        functions and definition.kind.is_layer
    ):
        return []
    return [
        definition.finding(
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
    return definition.finding(message, "Rename one of the two, or remove its file.")


def _undocumented(definition: Definition) -> list[Diagnostic]:
    return [
        definition.finding(
            f"the hyperparameter `{h.name}` is not documented",
            "Add a `#: ...` comment after it; this project has `document_fields = true`.",
            h.location,
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
    packs: Mapping[str, str],
) -> list[Diagnostic]:
    found = []
    for imported in definition.imports:
        reference = imported.reference
        if reference is not None and reference == definition.reference:
            found.append(
                definition.finding(
                    f"{definition.name} imports itself",
                    "Remove the import.",
                    imported.location,
                    len(reference.name),
                )
            )
        if reference is None:
            continue
        other = definitions.get(reference)
        if other is not None:
            if imported.pack not in ("", packs.get(other.source, imported.pack)):
                found.append(_of_another(definition, imported, other))
            elif imported.file and imported.file != Path(other.source).stem:
                found.append(_elsewhere(definition, imported, other))
            continue
        stem = imported.file or module_name(reference.name)
        if (reference.section, stem) in unread:
            continue  # that spec has errors of its own
        names = [r.name for r in known if r.section == reference.section]
        hint = did_you_mean(reference.name, sorted(names))
        hint = hint or _of_unnamed(definition, imported, packs)
        told = definition.finding(
            f"there is no spec of {reference}",
            hint,
            imported.location,
            len(reference.name),
        )
        found.append(replace(told, fix=imported_from_home(definition, imported)))
    return found


def _elsewhere(
    definition: Definition, imported: Import, other: Definition
) -> Diagnostic:
    told = definition.finding(
        f"there is no {imported.name} in {imported.module}/{imported.file}.py",
        f"It is in {other.source}: import it from there.",
        imported.location,
        len(imported.name),
    )
    return replace(told, fix=imported_from_home(definition, imported))


def _of_unnamed(
    definition: Definition, imported: Import, packs: Mapping[str, str]
) -> str:
    """What to do about a spec of a package that is neither the project nor a plugin it names, or ""."""
    own = ".".join(definition.source.split("/")[:-2])
    if imported.pack in packs.values() or f".{own}".endswith(f".{imported.pack}"):
        return ""
    return (
        f"If {imported.pack} is a plugin's, name the plugin in `plugins` of "
        "[tool.mlax-scaffold]."
    )


def _of_another(
    definition: Definition, imported: Import, other: Definition
) -> Diagnostic:
    told = definition.finding(
        f"no plugin that this project names has a spec of {imported.reference} in "
        f"{imported.pack}",
        f"It is in {other.source}; or name the plugin that is meant in `plugins` of "
        "[tool.mlax-scaffold].",
        imported.location,
        len(imported.name),
    )
    return replace(told, fix=imported_from_home(definition, imported))


def _cycles(definitions: Mapping[Reference, Definition]) -> list[Diagnostic]:
    done: set[Reference] = set()
    found: list[Diagnostic] = []

    def visit(definition: Definition, path: tuple[Reference, ...]) -> None:
        reference = definition.reference
        if reference in path:
            loop = " -> ".join(
                str(r) for r in (*path[path.index(reference) :], reference)
            )
            found.append(
                definition.finding(f"specs are built on each other: {loop}", "")
            )
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
                definition.finding(
                    f"{definition.module} is a function of optim already",
                    "Choose another name: that of its module is the same.",
                )
            )
        if not definition.kind.is_layer:
            continue
        other = taken.setdefault(definition.module_name, definition)
        if other is not definition or definition.module_name in MODULES:
            where = "" if other is definition else f", of {other.source}"
            found.append(
                definition.finding(
                    f"there is a module class {definition.module_name} already{where}",
                    f'Give it another name: `class {definition.name}(..., module="...")`.',
                )
            )
    return found
