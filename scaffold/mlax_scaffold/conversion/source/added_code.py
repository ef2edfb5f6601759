"""Definitions that a file of PyTorch has besides its own, in the place of what its calls stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.walking import located, walk


def with_definitions(
    origin: Origin, texts: Iterable[str], line: int, torch: str
) -> None:
    """Add definitions to a file, in place, which import torch under a name.

    What is told of them, is told of the line that they stand for.
    """
    for text in texts:
        [node] = ast.parse(text).body
        for part in walk(node):
            if hasattr(part, "lineno"):
                part.lineno = part.end_lineno = line  # type: ignore[attr-defined]
        origin.tree.body.append(node)
    origin.tree.body[:0] = ast.parse(f"import torch as {torch}").body
    origin.forget("imports", "classes", "functions")
    located(origin.tree)
