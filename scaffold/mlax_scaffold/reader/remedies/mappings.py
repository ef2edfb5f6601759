"""Fields that are dictionaries, as the pairs that they hold: hyperparameters are hashable."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.reader.remedies.types import row_text
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_MAPPINGS = ("Dict", "Mapping", "MutableMapping", "dict")


def as_pairs(source: Source, node: ast.expr) -> Fix | None:
    """A field of the type `dict[int, float]` as one of pairs, of which each read makes a dictionary."""
    match node:
        case ast.Subscript(value=owner, slice=ast.Tuple(elts=[_, _] as types)) if (
            dotted(owner) or ""
        ).rpartition(".")[2] in _MAPPINGS:
            row = row_text(types)
        case _:
            return None
    field = _field_of(source, node)
    if row is None or field is None:
        return None
    name, default, scope = field
    edits = [source.edit(node, f"tuple[{row}, ...]")]
    match default:
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = [
                f"({source.text_of(key)}, {source.text_of(value)})"
                for key, value in zip(keys, values, strict=True)
                if key is not None
            ]
            comma = "," if len(pairs) == 1 else ""
            edits.append(source.edit(default, f"({', '.join(pairs)}{comma})"))
    return Fix((*edits, *_reads(source, scope, name)))


def _field_of(
    source: Source, node: ast.expr
) -> tuple[str, ast.expr | None, ast.AST] | None:
    """The name and the default of the field that an annotation is of, and where it is read."""
    for scope in ast.walk(source.tree):
        for part in ast.iter_child_nodes(scope):
            match part:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=given):
                    if source.same(given, node):
                        return name, part.value, scope
                case ast.arguments(kwonlyargs=[*_]):
                    for arg, default in zip(
                        part.kwonlyargs, part.kw_defaults, strict=True
                    ):
                        if source.same(arg.annotation, node):
                            return arg.arg, default, scope
    return None


def _reads(source: Source, scope: ast.AST, name: str) -> list[Edit]:
    of_class = isinstance(scope, ast.ClassDef)
    return [
        source.edit(node, f"dict({source.text_of(node)})")
        for node in ast.walk(scope)
        if isinstance(node, ast.Attribute | ast.Name)
        and isinstance(node.ctx, ast.Load)
        and (
            self_attribute(node) == name
            if of_class
            else isinstance(node, ast.Name) and node.id == name
        )
    ]
