"""Statements that delete names, which change nothing of what is computed."""

from __future__ import annotations

import ast


def without_deletions(tree: ast.Module) -> None:
    """Take `del name` out of the functions of a file, in place."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for part in ast.walk(function):
                for field in ("body", "orelse", "finalbody"):
                    body = getattr(part, field, None)
                    if isinstance(body, list) and any(map(_deletes, body)):
                        kept = [s for s in body if not _deletes(s)]
                        if not kept and field == "body":
                            kept.append(ast.copy_location(ast.Pass(), body[0]))
                        setattr(part, field, kept)


def _deletes(node: ast.stmt) -> bool:
    return isinstance(node, ast.Delete) and all(
        isinstance(target, ast.Name) for target in node.targets
    )
