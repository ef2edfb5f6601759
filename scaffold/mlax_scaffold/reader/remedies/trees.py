"""Inputs whose parts have names: dictionaries and small classes of other kinds, as NamedTuples."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Edit, Fix, Needed
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.remedies.types import needed
from mlax_scaffold.reader.source import Source, dotted

_NAMED_TUPLE = Needed("typing", "NamedTuple", "NamedTuple")
_DICTIONARIES = ("dict", "Dict", "Mapping")


def named_tuple(source: Source, node: ast.ClassDef) -> Fix | None:
    """A dataclass or a TypedDict beside the definition as a NamedTuple."""
    bases = [_last(base) for base in node.bases]
    decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    if bases not in ([], ["TypedDict"]) or node.keywords:
        return None
    if any(_last(d) != "dataclass" for d in decorators) or not _has_fields(node):
        return None
    edits: list[Edit] = []
    for decorator in node.decorator_list:
        line = decorator.lineno
        end = (decorator.end_lineno or line) + 1
        edits.append(source.replace((line, 1), (end, 1), ""))
    if bases:
        edits.append(source.edit(node.bases[0], "NamedTuple"))
    else:
        line, column = source.start(node)
        end = line, column + len(f"class {node.name}")
        if not source.lines[line - 1][end[1] - 1 :].startswith(":"):
            return None
        edits.append(source.replace(end, end, "(NamedTuple)"))
    for function in (
        n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef)
    ):
        for arg in function.args.args:
            if bases and arg.annotation and unparsed(arg.annotation) == node.name:
                read = _read_by_name(source, function, arg.arg)
                if read is None:
                    return None
                edits += read
    return Fix(tuple(edits), (_NAMED_TUPLE,))


def with_parts(source: Source, method: ast.FunctionDef, arg: ast.arg) -> Fix | None:
    """An input that is read as a dictionary of known keys, as a NamedTuple."""
    owner = next(
        (
            c
            for c in source.tree.body
            if isinstance(c, ast.ClassDef) and _holds(c, method)
        ),
        None,
    )
    function = owner and next(m for m in owner.body if m.lineno == method.lineno)
    if owner is None or not isinstance(function, ast.FunctionDef):
        return None
    given = _parts_of(source, arg.annotation)
    read = _read_by_name(source, function, arg.arg)
    taken = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    taken |= {n.name for n in source.tree.body if isinstance(n, ast.ClassDef)}
    name = "".join(part.capitalize() for part in arg.arg.split("_"))
    if given is None or not read or name in taken:
        return None
    parts, other = given
    keys = dict.fromkeys([*parts, *(k for _, k in sorted(_keys(function, arg.arg)))])
    fields = {key: parts.get(key, other) for key in keys}
    text = "".join(f"    {key}: {kind}\n" for key, kind in fields.items())
    above = owner.lineno, 1
    edits = [
        source.replace(above, above, f"class {name}(NamedTuple):\n{text}\n\n"),
        *read,
    ]
    if arg.annotation is None:
        line, column = source.start(arg)
        end = line, column + len(arg.arg)
        edits.append(source.replace(end, end, f": {name}"))
    else:
        edits.append(source.edit(arg.annotation, name))
    kinds = (n for kind in fields.values() for n in needed(kind))
    return Fix(tuple(edits), (_NAMED_TUPLE, *dict.fromkeys(kinds)))


def _last(node: ast.expr) -> str:
    return (dotted(node) or "").rpartition(".")[2]


def _has_fields(node: ast.ClassDef) -> bool:
    """Whether a class holds fields with types, and beside them methods and a docstring alone."""
    others = ast.FunctionDef | ast.Expr | ast.Pass
    fields = [s for s in node.body if isinstance(s, ast.AnnAssign)]
    return bool(fields) and all(s in fields or isinstance(s, others) for s in node.body)


def _holds(node: ast.ClassDef, method: ast.FunctionDef) -> bool:
    return any(
        isinstance(m, ast.FunctionDef) and m.lineno == method.lineno for m in node.body
    )


def _parts_of(
    source: Source, annotation: ast.expr | None
) -> tuple[dict[str, str], str] | None:
    """The types of the parts that an annotation names, and that of others; None: it is of another kind."""
    any_array = 'Float["..."]'
    match annotation:
        case None:
            return {}, any_array
        case ast.Name() | ast.Attribute() if _last(annotation) in _DICTIONARIES:
            return {}, any_array
        case ast.Subscript(value=owner, slice=ast.Tuple(elts=[_, kind])) if (
            _last(owner) in _DICTIONARIES
        ):
            text = source.text_of(kind)
            return {}, text if text.startswith(
                ("Float[", "Int[", "Bool[")
            ) else any_array
        case ast.Dict(keys=keys, values=kinds):
            names = [k.value for k in keys if isinstance(k, ast.Constant)]
            if len(names) == len(kinds) and all(str(n).isidentifier() for n in names):
                pairs = zip(names, kinds, strict=True)
                return {str(n): source.text_of(k) for n, k in pairs}, any_array
    return None


def _keys(function: ast.FunctionDef, name: str) -> list[tuple[tuple[int, int], str]]:
    """The constant keys that a variable is read by, with their places."""
    return [
        ((node.lineno, node.col_offset), key)
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Constant)
        and isinstance(key := node.slice.value, str)
        and key.isidentifier()
    ]


def _read_by_name(
    source: Source, function: ast.FunctionDef, name: str
) -> list[Edit] | None:
    """`graph["nodes"]` as `graph.nodes`; None where the variable is used in another way."""
    edits: list[Edit] = []
    uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name]
    for node in ast.walk(function):
        match node:
            case ast.Subscript(
                value=ast.Name(id=owner) as variable, slice=ast.Constant(value=str(key))
            ) if owner == name and key.isidentifier():
                if not isinstance(node.ctx, ast.Load):
                    return None
                uses.remove(variable)
                edits.append(
                    source.replace(source.end(variable), source.end(node), f".{key}")
                )
    return None if uses else edits
