"""Finds changes of the lists and dictionaries of states that would be lost: they are values in a method.

An item that is set, `self.counts["all"] = value`, is a new state. What `update` or `append` does, or a
function that is given the dictionary, changes a copy.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.changing import CHANGING, changed_parameters
from mlax_scaffold.reader.remedies.helpers import moved_into_class
from mlax_scaffold.reader.source import Source, self_attribute

_ARRAYS = ("state", "moment")


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
    changing = {
        node.name: {*changed_parameters(node)}
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef)
    }
    for node in walk(method):
        match node:
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


def _held(node: ast.expr, held: Collection[str]) -> bool:
    """Whether an expression is a container of states, or a place of one."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return self_attribute(node) in held
