"""Containers of `setup`, and what methods do with what is in them: resolved once, before all else is read."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

from mlax_scaffold.model.definition import SECTIONS, Kind, Reference, Role
from mlax_scaffold.model.resolved import resolved
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.containers import given
from mlax_scaffold.reader.containers.resolving import resolve_class
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

    changes = [
        change
        for node in classes
        for change in (
            *resolve_class(node, kind_of, entries_of, source.text),
            *given.changes_of(
                node,
                given.fields_of(node, given.SEVERAL),
                given.fields_of(node, given.ONE),
            ),
        )
    ]
    if not changes:
        return source
    numbers = source.resolved.numbers if source.resolved else ()
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
