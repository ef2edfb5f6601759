"""Finds changes of the lists and dictionaries of states that would be lost: they are values in a method.

An item that is set, `self.counts["all"] = value`, is a new state. What `update` or `append` does, or a
function that is given the dictionary, changes a copy. So does what is set in a list that holds the same
dictionaries, `books = [*self.books]`, or in one of them under another name.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.changing import CHANGING, changed_parameters
from mlax_scaffold.reader.checks.shared_items import around, parts_of
from mlax_scaffold.reader.remedies.helpers import moved_into_class
from mlax_scaffold.reader.source import Source, self_attribute

_ITEM = "Set what changes: `self.name[key] = value`."


def check_lost_items(
    source: Source, method: ast.FunctionDef, held: Collection[str]
) -> None:
    """Report them in one method; `held` are the attributes that are containers of states."""
    if not held or method.name == "setup":
        return
    inside = (n for n in walk(method) if n is not method)
    changing = {
        node.name: {*changed_parameters(node)}
        for node in (*source.tree.body, *inside)
        if isinstance(node, ast.FunctionDef)
    }
    for node, names in parts_of(method, held):
        match node:
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=owner) if (
                not _held(owner, held) and around(owner, names, held) == 0
            ):
                _report_copy(source, node)
            case ast.AugAssign(
                target=ast.Name() as target, value=ast.Dict() | ast.List()
            ) if around(target, names, held) == 0:
                _report_copy(source, node)
            case ast.Call(func=ast.Attribute(value=owner, attr=how)) if (
                how in CHANGING and around(owner, names, held) == 0
            ):
                source.report(
                    node,
                    f"`{how}` changes a copy here: the states stay what they are",
                    _ITEM,
                )
            case ast.Call(func=ast.Name(id=name), args=given) if changing.get(name):
                for number, argument in enumerate(given):
                    shared = _held(argument, held) or not around(argument, names, held)
                    if number in changing[name] and shared:
                        source.report(
                            argument,
                            f"`{name}` changes a copy of what it is given: the states stay what they are",
                            f"Write it as a method, `self.{name}(...)`, which sets them.",
                            fix=moved_into_class(source, node),
                        )


def _report_copy(source: Source, node: ast.AST) -> None:
    source.report(
        node,
        "this changes a copy of what is there: the states stay what they are",
        _ITEM,
    )


def _held(node: ast.expr, held: Collection[str]) -> bool:
    """Whether an expression is a container of states, or a place of one."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return self_attribute(node) in held
