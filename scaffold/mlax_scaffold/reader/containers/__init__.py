"""Containers of `setup`, and what methods do with what is in them: resolved once, before all else is read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache

from mlax_scaffold.model.definition import SECTIONS, Kind, Reference, Role
from mlax_scaffold.model.resolved import Change, resolved
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.changing import changed_parameters
from mlax_scaffold.reader.containers import given
from mlax_scaffold.reader.containers.declared import KindOf, declared_in
from mlax_scaffold.reader.containers.otherwise import numbers_of
from mlax_scaffold.reader.containers.resolving import resolve_class
from mlax_scaffold.reader.containers.uses import holds_layers
from mlax_scaffold.reader.imports import BASES, ImportReader
from mlax_scaffold.reader.inheritance import Texts, defining_text
from mlax_scaffold.reader.makers import written_out
from mlax_scaffold.reader.roles import entry_points
from mlax_scaffold.reader.source import Source, dotted, parsed

ARRAYS = {
    "trainable": Role.TRAINABLE,
    "state": Role.STATE,
    "moment": Role.MOMENT,
}
"""The words that declare arrays."""

LAYERS = ("nn", "block")


def resolved_source(
    source: Source, tree: ast.Module, reader: ImportReader, texts: Texts
) -> Source:
    """The source with containers resolved in it, and what `setup` calls; itself where there is neither."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            reader.read(node)
    source = written_out(source, _declared_by_calls(tree, reader))
    tree = source.tree
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    layers = {
        name: imported.reference
        for name, imported in reader.imports.items()
        if imported.reference and imported.reference.section in LAYERS
    }
    for node in classes:
        bases = [BASES.get(unparsed(base)) for base in node.bases]
        if bases and bases[0] is not None and bases[0].is_layer:
            layers[node.name] = Reference("nn", node.name)

    def kind_of(call: ast.Call) -> Role | Reference | None:
        name = dotted(call.func) or ""
        return ARRAYS.get(name) or layers.get(name)

    @cache
    def entries_of(kind: Role | Reference) -> Mapping[str, int]:
        """The entry points of a layer, by its own text."""
        for name in (n for n, reference in layers.items() if reference == kind):
            text = defining_text(tree, name, texts, BASES)
            found = parsed(text).body if text else []
            known = [n for n in found if isinstance(n, ast.ClassDef)]
            own = {n.name: n for n in known}
            if known:
                return entry_points(own.get(name) or own.get(kind.name) or known[-1])
        return {}

    for change_of in (numbers_of, _sliced):
        made = [change for node in classes for change in change_of(node, kind_of)]
        if made:
            source = _rewritten(source, made)
        tree = source.tree
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    changing = [f.name for f in functions if any(True for _ in changed_parameters(f))]
    changes = [
        change
        for node in classes
        for change in (
            *resolve_class(node, kind_of, entries_of, source.text, changing),
            *given.changes_of(
                node,
                given.fields_of(node, given.SEVERAL),
                given.fields_of(node, given.ONE),
            ),
        )
    ]
    return _with(source, changes, _numbers(source)) if changes else source


def _sliced(node: ast.ClassDef, kind_of: KindOf) -> Iterator[Change]:
    """What to change for other names of parts of the containers of a class."""
    methods = (m for m in node.body if isinstance(m, ast.FunctionDef))
    setup = next((m for m in methods if m.name == "setup"), None)
    declared = declared_in(setup, kind_of) if setup else {}
    names = [name for name, found in declared.items() if holds_layers(found)]
    return given.slices_of(node, names) if names else iter(())


def _rewritten(source: Source, changes: list[Change]) -> Source:
    """The source with changes of its text, which is changed again: its lines say something else then."""
    numbers = [*_numbers(source)] or [*range(1, source.text.count("\n") + 2)]
    for (line, _), _, _ in changes:
        numbers[line - 1] = -abs(numbers[line - 1])
    return _with(source, changes, tuple(numbers))


def _numbers(source: Source) -> tuple[int, ...]:
    return source.resolved.numbers if source.resolved else ()


def _with(source: Source, changes: list[Change], numbers: tuple[int, ...]) -> Source:
    """The source with changes of its text, and the numbers that its lines had."""
    made = resolved(source.text, changes, numbers)
    return Source(source.path, source.written, resolved=made)


def _declared_by_calls(tree: ast.Module, reader: ImportReader) -> set[str]:
    """The names of what is declared where it is called: layers, optimizers, the words for arrays."""
    specs = {
        name
        for name, imported in reader.imports.items()
        if imported.reference
        and SECTIONS[imported.reference.section] is not Kind.FUNCTION
    }
    own = {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        and any(unparsed(base) in BASES for base in node.bases)
    }
    return specs | own | {*ARRAYS}
