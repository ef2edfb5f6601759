"""What the operators share: copies of nodes, and where a node stands."""

from __future__ import annotations

import ast
import copy

Change = tuple[str, ast.AST]
"""The kind of a fault, and what a node becomes."""


def with_fields(node: ast.AST, **fields: object) -> ast.AST:
    """A copy with other fields."""
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def is_place(parents: tuple[ast.AST, ...]) -> bool:
    """Whether a number is an index, which another kind changes, or says how `zip` asserts."""
    match parents[-1] if parents else None:
        case ast.Subscript() | ast.keyword(arg="strict"):
            return True
    return False


def is_test(node: ast.AST, parents: tuple[ast.AST, ...]) -> bool:
    """Whether it decides a branch."""
    return isinstance(parents[-1], ast.If | ast.IfExp) and parents[-1].test is node


def is_compared(parents: tuple[ast.AST, ...]) -> bool:
    """Whether it is compared with something."""
    return bool(parents) and isinstance(parents[-1], ast.Compare)
