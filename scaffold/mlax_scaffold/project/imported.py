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
            found = {f"{module}.{alias.name}" for alias in node.names} & {*known}
            if found:
                yield from found
            # A section re-exports its functions from their own modules.
            for alias in node.names:
                own = f"{module}._{alias.name}"
                yield own if own in known else module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
