"""Constructors that end early, `if not deep: return`, with the rest of them under a condition."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.walking import located, walk


def without_early_returns(tree: ast.Module) -> None:
    """Write them so, in place."""
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            node.body = _straight(node.body) or [ast.Pass()]
    located(tree)


def _straight(body: list[ast.stmt]) -> list[ast.stmt]:
    for at, part in enumerate(body):
        if isinstance(part, ast.Return):
            return body[:at]
        if not isinstance(part, ast.If):
            continue
        rest = body[at + 1 :]
        ends = _ends(part.body), _ends(part.orelse)
        if not any(ends):
            continue
        part.body = _straight(part.body if ends[0] else [*part.body, *rest])
        part.orelse = _straight(part.orelse if ends[1] else [*part.orelse, *rest])
        if not part.body:
            part.test = ast.copy_location(ast.UnaryOp(ast.Not(), part.test), part.test)
            part.body, part.orelse = part.orelse, []
        kept = [part] if part.body else []
        return [*body[:at], *kept]
    return body


def _ends(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return)
