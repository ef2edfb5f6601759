"""Reads the small classes beside a definition: NamedTuples, typed dictionaries and enumerations."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from mlax_scaffold.model.definition import ArrayType, Helper, Import
from mlax_scaffold.model.import_time import (
    ENUMERATIONS,
    NAMED_TUPLE,
    TYPED_DICT,
    Refused,
    check_member,
    meaning,
)
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.checks.body import BodyChecker
from mlax_scaffold.reader.checks.defaults import check_defaults, check_type
from mlax_scaffold.reader.plain_types import plain_type
from mlax_scaffold.reader.source import Source, dotted
from mlax_scaffold.reader.types import (
    holds_arrays,
    read_array_type,
)

_RESERVED = frozenset(["checks"])
_OWN = ("name", "value", "_asdict", "_replace")
"""What members of enumerations, and NamedTuples, have."""
_TREES = {NAMED_TUPLE: "NamedTuple", TYPED_DICT: "TypedDict"}
_FIELDS = "Write `name: type`, as in `score: jax.Array`, or `name: type = default`."
_MEMBERS = 'Write `NAME = "text"`, `NAME = 1` or `NAME = auto()`.'


def kind_of(node: ast.ClassDef, imports: Mapping[str, Import]) -> str:
    """What a class is by its bases: `NamedTuple`, `TypedDict`, `Enum`, or nothing of them."""
    meanings = {name: imported.meaning for name, imported in imports.items()}
    for tree, kind in _TREES.items():
        meanings.setdefault(kind, tree)
    bases = [meaning(base, meanings) for base in node.bases]
    if len(bases) == 1 and bases[0] in _TREES:
        return _TREES[bases[0]]
    return "Enum" if bases and bases[-1] in ENUMERATIONS else ""


def read_small_class(
    source: Source, node: ast.ClassDef, imports: Mapping[str, Import]
) -> Helper:
    """The class as a helper. What importing it would run, and what no pure code holds, is reported."""
    kind = kind_of(node, imports)
    for extra in (*node.decorator_list, *(k.value for k in node.keywords)):
        source.report(
            extra,
            f"`{node.name}` has more than fields, members and methods",
            "Remove it.",
        )
    for base in node.bases[:-1]:
        if dotted(base) not in ("str", "int"):
            source.report(
                base,
                f"`{node.name}` derives from `{unparsed(base)}`",
                "An enumeration derives from Enum, or from str or int and Enum.",
            )
    members: list[str] = []
    methods: list[ast.FunctionDef] = []
    types: list[tuple[str, str]] = []
    arrays: list[ArrayType | None] = []
    for statement in node.body:
        match statement:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                pass
            case ast.FunctionDef():
                methods.append(statement)
            case ast.AnnAssign(target=ast.Name(id=name)) if kind != "Enum":
                members.append(name)
                plain = plain_type(source, statement.annotation)
                check_type(source, plain)
                types.append((name, unparsed(plain)))
                annotation = statement.annotation
                held = holds_arrays(annotation, imports)
                tree = read_array_type(source, annotation, imports) if held else None
                arrays.append(tree)
                _check(source, node, statement.value, imports)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if kind == "Enum":
                members.append(name)
                _check(source, node, value, imports)
                if name.startswith("_"):
                    hint = "Remove the `_`: Python has a meaning of its own for some."
                    source.report(statement, f"`{name}` is no name of a member", hint)
            case _:
                source.report(
                    statement,
                    f"this cannot stand in `{node.name}`",
                    _MEMBERS if kind == "Enum" else _FIELDS,
                )
    if not members:
        hint = _MEMBERS if kind == "Enum" else _FIELDS
        source.report(node, f"`{node.name}` holds nothing", hint)
    attributes = dict.fromkeys([*members, *_OWN], "hyperparameter")
    attributes |= {method.name: "method" for method in methods}
    for method in methods:
        _check_method(source, node, method, attributes, imports)
    return Helper(
        node.name,
        frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name)),
        tuple(types),
        location=source.location(node),
        kind=kind,
        members=tuple(members),
        array=_tree(node.name, kind, members, arrays),
    )


def _tree(
    name: str, kind: str, fields: list[str], arrays: list[ArrayType | None]
) -> ArrayType | None:
    """What an input of the class is; None where a field is no array."""
    items = tuple(a for a in arrays if a)
    if not items or len(items) < len(fields):
        return None
    if kind == "TypedDict":
        return ArrayType("dict", name=name, keys=tuple(fields), items=items)
    return ArrayType("tuple", name=name, items=items)


def _check(
    source: Source,
    node: ast.ClassDef,
    value: ast.expr | None,
    imports: Mapping[str, Import],
) -> None:
    meanings = {name: imported.meaning for name, imported in imports.items()}
    try:
        if value is not None:
            check_member(value, meanings)
    except Refused as refused:
        source.report(
            refused.node,
            f"`{node.name}`: {refused}",
            "Write a number, a text, None, or the name of a function.",
        )


def _check_method(
    source: Source,
    node: ast.ClassDef,
    method: ast.FunctionDef,
    attributes: dict[str, str],
    imports: Mapping[str, Import],
) -> None:
    if method.name.startswith("_"):
        source.report(
            method,
            f"`{node.name}.{method.name}` may run where Python makes the class",
            "Give it a name without `_` at its beginning, or write a function.",
        )
    for decorator in method.decorator_list:
        if dotted(decorator) != "property":
            source.report(decorator, f"methods of `{node.name}` have no decorators")
    if [a.arg for a in method.args.args][:1] != ["self"]:
        source.report(method, f"{method.name} must take self first")
    check_defaults(source, method.args, imports)
    for annotation in _annotations(method):
        check_type(source, plain_type(source, annotation))
    BodyChecker(source, method, attributes, imports=imports, reserved=_RESERVED).check()


def _annotations(method: ast.FunctionDef) -> Iterable[ast.expr]:
    args = (a.annotation for a in ast.walk(method.args) if isinstance(a, ast.arg))
    return filter(None, (*args, method.returns))
