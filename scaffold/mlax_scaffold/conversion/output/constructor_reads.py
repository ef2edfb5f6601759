"""What a constructor reads of the layer: hyperparameters, and methods that compute of them alone."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.output.description import Described
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk


def refuse_unreadable(
    notes: Notes, definition: Described, known: set[str], told: set[int]
) -> None:
    """Note down attributes that `setup` reads and cannot: it computes of hyperparameters alone.

    Args:
        notes: where to tell.
        definition: the layer.
        known: what it declares, and its hyperparameters and methods.
        told: the lines of which something is told already, which grow.
    """
    layers = {
        self_attribute(target)
        for part in definition.setup
        for inner in walk(part)
        if isinstance(inner, ast.Assign) and _declares(inner.value)
        for target in inner.targets
    }
    bodies: dict[str, ast.AST] = {m.name: m for m in definition.methods}
    computing = {
        title
        for title in bodies
        if any(
            self_attribute(p) in layers
            for inner in (title, *_called_by(bodies, title))
            for p in walk(bodies[inner])
        )
    }
    for part in definition.setup:
        called = {id(p.func) for p in walk(part) if isinstance(p, ast.Call)}
        for read in walk(part):
            attribute = self_attribute(read)
            line = getattr(read, "lineno", 0) or getattr(part, "lineno", 0)
            if attribute is None or line in told or not line:
                continue
            calls = attribute in layers and id(read) in called
            if attribute not in known or attribute in computing or calls:
                told.add(line)
                notes.refuse(
                    line,
                    f"`self.{attribute.lstrip('_')}` is nothing that a constructor can read here",
                    "compute it of hyperparameters there, or take it as one",
                )


def _declares(node: ast.expr) -> bool:
    """Whether an expression makes layers or weights."""
    return any(
        isinstance(p, ast.Name)
        and (
            p.id.startswith(("@layer:", "@own:"))
            or p.id.removeprefix("@word:") in ("trainable", "state")
        )
        for p in walk(node)
    )


def _called_by(bodies: Mapping[str, ast.AST], title: str) -> set[str]:
    """The methods that one calls, directly or not."""
    found: set[str] = set()
    queue = [title]
    while queue:
        read = {self_attribute(p) for p in walk(bodies[queue.pop()])}
        more = {r for r in read if r in bodies} - found
        found |= more  # type: ignore[arg-type]
        queue += more  # type: ignore[arg-type]
    return found
