"""Finds corrections of averages, `m / (1 - self.b1**self.step)`, whose decay may be 1."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.model.words import WORDS
from mlax_scaffold.reader.checks.local_values import only_value
from mlax_scaffold.reader.remedies.names import word
from mlax_scaffold.reader.source import Source, class_of, self_attribute


def check_corrections(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    imports: Mapping[str, Import],
) -> None:
    """Report a division by `1 - self.b1**n` where `b1` may be 1, with the word that it has to be."""
    fields = _fields(source.tree, method)
    if not fields:
        return
    for node in walk(method):
        match node:
            case ast.BinOp(op=ast.Div(), right=right):
                name = _decay(right, method)
                if name in fields:
                    _report(source, node, name, fields.pop(name))


def _report(source: Source, node: ast.BinOp, name: str, annotation: ast.Name) -> None:
    narrower = _below_one(annotation.id)
    needed = word(source, narrower)
    source.report(
        node.right,
        f"this is 0 where `{name}` is 1, which a {annotation.id} may be",
        f"A number below 1 is a {narrower}: `{name}: {needed.bound}`.",
        fix=Fix((source.edit(annotation, needed.bound),), (needed,)),
    )


def _below_one(name: str) -> str:
    """The word for what a word takes but for 1; "" where it does not take 1, or there is none."""
    narrower = WORDS[name].narrower if name in WORDS else ()
    return next((word for value, _, word in narrower if value == 1.0), "")


def _fields(tree: ast.Module, method: ast.FunctionDef) -> dict[str, ast.Name]:
    """The annotations of the fields that may be 1, and could be said not to, by name."""
    owner = class_of(tree, method)
    return {
        statement.target.id: statement.annotation
        for statement in (owner.body if owner else ())
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and isinstance(statement.annotation, ast.Name)
        and _below_one(statement.annotation.id)
    }


def _decay(node: ast.expr, method: ast.FunctionDef) -> str:
    """`b1` of `1 - self.b1**n`, of its root, or of a local that is one of these; "" of all else."""
    match node:
        case ast.BinOp(
            left=ast.Constant(value=1),
            op=ast.Sub(),
            right=ast.BinOp(left=base, op=ast.Pow()),
        ):
            return self_attribute(base) or ""
        case ast.Call(func=ast.Attribute(attr="sqrt"), args=[inner]):
            return _decay(inner, method)
        case ast.Name(id=name):
            return next((_decay(v, method) for v in only_value(name, method)), "")
    return ""
