"""Inputs whose parts have names: dataclasses as NamedTuples, and dictionaries as typed ones."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.reader.remedies.types import needed
from mlax_scaffold.reader.source import Source, class_of, dotted

_TYPED_DICT = Needed("typing", "TypedDict", "TypedDict")
_NAMED_TUPLE = Needed("typing", "NamedTuple", "NamedTuple")
DICTIONARIES = ("dict", "Dict", "Mapping")
"""Types of dictionaries, which say nothing of their keys."""


def named_tuple(source: Source, node: ast.ClassDef) -> Fix | None:
    """A dataclass beside the definition as a NamedTuple."""
    decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    if node.bases or node.keywords:
        return None
    if any(_last(d) != "dataclass" for d in decorators) or not _has_fields(node):
        return None
    edits: list[Edit] = []
    for decorator in node.decorator_list:
        line = decorator.lineno
        end = (decorator.end_lineno or line) + 1
        edits.append(source.replace((line, 1), (end, 1), ""))
    line, column = source.start(node)
    end = line, column + len(f"class {node.name}")
    if not source.lines[line - 1][end[1] - 1 :].startswith(":"):
        return None
    edits.append(source.replace(end, end, "(NamedTuple)"))
    return Fix(tuple(edits), (_NAMED_TUPLE,))


def typed_dict(
    source: Source, method: ast.FunctionDef, arg: ast.arg, read: Mapping[str, str]
) -> Fix | None:
    """An input that is read as a dictionary, by these keys, as a TypedDict; uses say these types."""
    owner = class_of(source.tree, method)
    given = _parts_of(source, arg.annotation)
    taken = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    taken |= {n.name for n in source.tree.body if isinstance(n, ast.ClassDef)}
    name = "".join(part.capitalize() for part in arg.arg.split("_"))
    if owner is None or given is None or name in taken:
        return None
    parts, other = given
    said = {key: other or kind for key, kind in read.items()}
    fields = {key: parts.get(key) or said[key] for key in {**parts, **said}}
    if not all(key.isidentifier() for key in fields):
        return None
    text = "".join(f"    {key}: {kind}\n" for key, kind in fields.items())
    above = owner.lineno, 1
    edits = [source.replace(above, above, f"class {name}(TypedDict):\n{text}\n\n")]
    if arg.annotation is None:
        line, column = source.start(arg)
        end = line, column + len(arg.arg)
        edits.append(source.replace(end, end, f": {name}"))
    else:
        edits.append(source.edit(arg.annotation, name))
    kinds = (n for kind in fields.values() for n in needed(kind))
    return Fix(tuple(edits), (_TYPED_DICT, *dict.fromkeys(kinds)))


def _last(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


def _has_fields(node: ast.ClassDef) -> bool:
    """Whether a class holds fields with types, and beside them methods and a docstring alone."""
    others = ast.FunctionDef | ast.Expr | ast.Pass
    fields = [s for s in node.body if isinstance(s, ast.AnnAssign)]
    return bool(fields) and all(s in fields or isinstance(s, others) for s in node.body)


def _parts_of(
    source: Source, annotation: ast.expr | None
) -> tuple[dict[str, str], str] | None:
    """The types of the parts that an annotation names, and that of all or ""; None: it is of another kind."""
    match annotation:
        case None:
            return {}, ""
        case ast.Name() | ast.Attribute() if _last(annotation) in DICTIONARIES:
            return {}, ""
        case ast.Subscript(value=owner, slice=ast.Tuple(elts=[_, kind])) if (
            _last(owner) in DICTIONARIES
        ):
            text = source.text_of(kind)
            known = text.startswith(("Float[", "Int[", "Bool["))
            return {}, text if known else ""
        case ast.Dict(keys=keys, values=kinds):
            names = [k.value for k in keys if isinstance(k, ast.Constant)]
            if len(names) == len(kinds) and all(str(n).isidentifier() for n in names):
                pairs = zip(names, kinds, strict=True)
                return {str(n): source.text_of(k) for n, k in pairs}, ""
    return None
