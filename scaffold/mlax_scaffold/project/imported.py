"""Which modules of a package one of them imports, as its text says it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable


def imported(name: str, text: str, known: Collection[str]) -> Iterable[str]:
    """The modules of the package that one of them imports, other than its registries."""
    package = name.split(".")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            level = len(package) - node.level + (f"{name}.__init__" in known)
            start = ".".join(package[:level]) if node.level else ""
            module = ".".join(filter(None, (start, node.module)))
            for alias in node.names:
                # A section re-exports its functions from their own modules.
                own = f"{module}.{alias.name}", f"{module}._{alias.name}"
                yield next((n for n in own if n in known), module)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
