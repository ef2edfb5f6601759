"""Containers of `setup`, and what methods do with what is in them: resolved once, before all else is read."""

from __future__ import annotations

import ast

from mlax_scaffold.model.definition import Reference, Role
from mlax_scaffold.model.resolved import resolved
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.containers.resolving import resolve_class
from mlax_scaffold.reader.imports import BASES, ImportReader
from mlax_scaffold.reader.source import Source, dotted

ARRAYS = {
    "trainable": Role.TRAINABLE,
    "state": Role.STATE,
    "moment": Role.MOMENT,
}
"""The words that declare arrays."""

LAYERS = ("nn", "block")


def resolved_source(source: Source, tree: ast.Module, reader: ImportReader) -> Source:
    """The source with containers resolved in it, itself where there are none."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            reader.read(node)
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

    changes = [change for node in classes for change in resolve_class(node, kind_of)]
    if not changes:
        return source
    numbers = source.resolved.numbers if source.resolved else ()
    made = resolved(source.text, changes, numbers)
    return Source(source.path, source.written, resolved=made)
