"""All nodes of a syntax tree, which many checks look through."""

from __future__ import annotations

import ast
from functools import lru_cache


@lru_cache(maxsize=4096)
def walk(tree: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes of a tree that nobody changes, in the order of `ast.walk`.

    They are found once: dozens of checks ask for those of one spec.
    """
    found = [tree]
    for node in found:  # It grows while it is gone through: breadth first.
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [part for part in value if isinstance(part, ast.AST)]
    return tuple(found)
