"""Finds changes of the lists and dictionaries of states that would be lost: they are values in a method.

An item that is set, `self.counts["all"] = value`, is a new state. What `update` or `append` does, or a
function that is given the dictionary, changes a copy. So does what is set in a list that holds the same
dictionaries, `books = [*self.books]`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.changing import CHANGING, changed_parameters
from mlax_scaffold.reader.remedies.helpers import moved_into_class
from mlax_scaffold.reader.source import Source, self_attribute

_ARRAYS = ("state", "moment")
_COPIES = ("dict", "list", "reversed", "sorted", "tuple")


def check_lost_items(
    source: Source,
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
    containers: Collection[str],
) -> None:
    """Report them in one method."""
    held = {n for n in containers if attributes.get(n) in _ARRAYS}
    if not held or method.name == "setup":
        return
    inside = (n for n in walk(method) if n is not method)
    changing = {
        node.name: {*changed_parameters(node)}
        for node in (*source.tree.body, *inside)
        if isinstance(node, ast.FunctionDef)
    }
    sharing = {
        target.id
        for node in walk(method)
        if isinstance(node, ast.Assign) and _is_copy(node.value, held)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in walk(method):
        match node:
            case ast.Subscript(ctx=ast.Store()) if _is_shared(node, sharing, held):
                source.report(
                    node,
                    "this changes a copy of what is there: the states stay what they are",
                    "Set what changes: `self.name[key] = value`.",
                )
            case ast.Call(func=ast.Attribute(value=owner, attr=how)) if (
                how in CHANGING and _held(owner, held)
            ):
                source.report(
                    node,
                    f"`{how}` changes a copy here: the states stay what they are",
                    "Set what changes: `self.name[key] = value`.",
                )
            case ast.Call(func=ast.Name(id=name), args=given) if changing.get(name):
                for number, argument in enumerate(given):
                    if number in changing[name] and _held(argument, held):
                        source.report(
                            argument,
                            f"`{name}` changes a copy of what it is given: the states stay what they are",
                            f"Write it as a method, `self.{name}(...)`, which sets them.",
                            fix=moved_into_class(source, node),
                        )


def _is_shared(
    item: ast.Subscript, sharing: Collection[str], held: Collection[str]
) -> bool:
    """Whether an item is one of a container that a copy of what is around it holds, too."""
    node = item.value
    if not isinstance(node, ast.Subscript):
        return False  # It is one of the copy.
    while isinstance(node, ast.Subscript):
        node = node.value
    named = isinstance(node, ast.Name) and node.id in sharing
    return named or _is_copy(node, held)


def _is_copy(node: ast.expr, held: Collection[str]) -> bool:
    """Whether an expression makes a container that holds those of a container of states."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in _COPIES:
            pass
        case ast.List(elts=[ast.Starred(value=inner)]):
            pass
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return any(_held(part, held) for part in parts)
        case _:
            return False
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
        inner = inner.func.value
    return _held(inner, held)


def _held(node: ast.expr, held: Collection[str]) -> bool:
    """Whether an expression is a container of states, or a place of one."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return self_attribute(node) in held
