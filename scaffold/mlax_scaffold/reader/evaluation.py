"""How often, and whether, the parts of a statement are evaluated where the statement is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from mlax_scaffold.reader.source import self_attribute

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
REPEATED = (
    "a nested function or lambda",
    "a comprehension",
    "the test of a while loop",
)
"""Where something is evaluated several times, and a key would be used again."""
_SCOPES = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)


def parts(
    node: ast.AST, context: str, *, keyed: bool = True
) -> Iterator[tuple[ast.AST, str]]:
    """The children of a node, each with what it stands in: "" where it is evaluated exactly once.

    Args:
        node: part of a statement.
        context: what the node itself stands in.
        keyed: whether the passes of a comprehension have keys of their own.
    """
    for child in ast.iter_child_nodes(node):
        inner = context
        if isinstance(node, _SCOPES):
            inner = REPEATED[0]
        elif isinstance(node, COMPREHENSIONS) and not (
            keyed and _in_passes(node, child)
        ):
            inner = context or REPEATED[1]
        elif isinstance(node, ast.IfExp) and child is not node.test:
            inner = context or "a conditional expression"
        elif isinstance(node, ast.BoolOp) and child is not node.values[0]:
            inner = context or f"an `{'and' if isinstance(node.op, ast.And) else 'or'}`"
        elif isinstance(node, ast.Compare) and child in node.comparators[1:]:
            inner = context or "a chained comparison"
        elif isinstance(node, ast.Assert):
            inner = context or "an assert"
        yield child, inner


def alternatives(chosen: ast.IfExp) -> list[ast.expr]:
    """The tests and the values of a conditional expression, and of those in its `else`."""
    match chosen.orelse:
        case ast.IfExp() as other:
            return [chosen.test, chosen.body, *alternatives(other)]
        case other:
            return [chosen.test, chosen.body, other]


def _in_passes(node: Any, child: ast.AST) -> bool:
    """Whether a part of a comprehension has keys of its own in each pass, or is evaluated once."""
    if child in (getattr(node, name, None) for name in ("elt", "key", "value")):
        return True
    place = node.generators.index(child)
    draws = [*node.generators[place].ifs] if child is not node.generators[-1] else []
    draws += [node.generators[place].iter] if place else []
    drawing = ("key", "keys")
    return not any(self_attribute(n) in drawing for d in draws for n in ast.walk(d))
