"""Which attributes of `setup` are read by their places, and which are other names of others."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from mlax_scaffold.model.resolved import Change
from mlax_scaffold.reader.containers.declared import Declared, Form
from mlax_scaffold.reader.looping import looped
from mlax_scaffold.reader.source import indexed_attribute, is_none, self_attribute

ARRAYS = frozenset(("trainable", "state", "moment"))
"""What is declared that is an array."""

_GIVEN = ast.Call | ast.List | ast.Tuple | ast.keyword
"""What hands on a value that stands in it."""
_FUNCTIONS = ast.Lambda | ast.FunctionDef


def holds_layers(declared: Declared) -> bool:
    """Whether one of its members is no array: arrays are plain values."""
    return declared.form in (Form.TREE, Form.ROW) and _has_layers(declared)


def is_layer(declared: Declared) -> bool:
    """Whether it is one sub-layer."""
    return declared.form is Form.PLAIN and _has_layers(declared)


def is_optional_weight(declared: Declared) -> bool:
    """Whether it is one weight that may be None."""
    kinds = {getattr(m.what, "value", m.what) for m in declared.members} - {None}
    chosen = any(isinstance(value, ast.IfExp) for value in declared.values)
    absent = chosen or declared.in_branch or any(map(is_none, declared.values))
    return declared.form is Form.PLAIN and kinds == {"trainable"} and bool(absent)


def is_array_or_number(declared: Declared) -> bool:
    """Whether it is one array, or a number where that is not there."""
    kinds = {getattr(m.what, "value", m.what) for m in declared.members} - {None}
    return (
        len(kinds) == 1
        and kinds <= ARRAYS
        and not any(m.steps for m in declared.members)
    )


def _has_layers(declared: Declared) -> bool:
    kinds = [m.what for m in declared.members if m.what is not None]
    return not all(getattr(k, "value", k) in ARRAYS for k in kinds)


def aliases_of(
    setup: ast.FunctionDef, declared: Mapping[str, Declared]
) -> dict[str, ast.Assign]:
    """Attributes that are other names: `self.decoder = self.encoder`, `self.last = self.layers[-1]`."""
    found = {}
    for statement in setup.body:
        match statement:
            case ast.Assign(
                targets=[target], value=ast.Attribute() | ast.Subscript() as value
            ) if (name := self_attribute(target)) and _is_place(value):
                root = self_attribute(value) or indexed_attribute(value) or ""
                first = declared.get(root)
                if first and first.form is not Form.VALUE:
                    found[name] = statement
    return found


def _is_place(value: ast.expr) -> bool:
    """Whether an expression is an attribute of self, or one place in it, wherever it is read."""
    while isinstance(value, ast.Subscript):
        read = [n for n in ast.walk(value.slice) if isinstance(n, ast.Name | ast.Slice)]
        if any(not isinstance(n, ast.Name) or n.id != "self" for n in read):
            return False
        value = value.value
    return self_attribute(value) is not None


def removed(statements: Iterable[ast.stmt]) -> list[Change]:
    return [
        (
            (s.lineno, s.col_offset),
            (s.end_lineno or s.lineno, s.end_col_offset or 0),
            "pass",
        )
        for s in statements
    ]


def used_otherwise(
    name: str, declared: Declared, methods: Sequence[ast.FunctionDef]
) -> bool:
    """Whether a list of layers of one kind is used in a way that needs its places."""
    return any(_other_uses(name, method) for method in methods)


def _other_uses(name: str, method: ast.FunctionDef) -> bool:
    parents = {c: p for p in ast.walk(method) for c in ast.iter_child_nodes(p)}
    for node in ast.walk(method):
        if self_attribute(node) != name:
            continue
        parent = parents[node]
        match parent:
            case ast.Call(func=ast.Name(id="len")):
                continue
            case ast.Subscript(value=owner, slice=index) if owner is node:
                called = parents[parent]
                if isinstance(called, ast.Call) and called.func is parent:
                    continue
                if isinstance(called, ast.Attribute) or isinstance(index, ast.Slice):
                    return True
                return isinstance(called, ast.Assign | ast.IfExp | _GIVEN)
        outer = parent
        while isinstance(outer, ast.Call):
            outer = parents[outer]
        if not isinstance(outer, ast.For | ast.comprehension):
            return not isinstance(outer, ast.Compare | ast.Expr)
        variables = [v for v, iterated in looped(outer) if iterated is node]
        if not variables:
            return True
        if _in_while(outer, parents):
            return True
        body = outer.body if isinstance(outer, ast.For) else [parents[outer]]
        inner = (n for s in body for n in ast.walk(s) if isinstance(n, _FUNCTIONS))
        if any(
            isinstance(n, ast.Name) and n.id in variables
            for function in inner
            for n in ast.walk(function)
        ):
            return True
        for part in (n for s in body for n in ast.walk(s)):
            if isinstance(part, ast.Name) and part.id in variables:
                use = parents[part]
                if part in ast.walk(outer.target) or (
                    isinstance(use, ast.Call) and use.func is part
                ):
                    continue
                if isinstance(use, ast.Attribute | _GIVEN):
                    return True
        if isinstance(outer, ast.For) and any(
            isinstance(n, ast.Break | ast.Continue | ast.Return | ast.While)
            or (isinstance(n, ast.For) and n is not outer)
            for n in ast.walk(outer)
        ):
            return True
    return False


def _in_while(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a `while` loop runs a part of a method."""
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.While):
            return True
    return False
