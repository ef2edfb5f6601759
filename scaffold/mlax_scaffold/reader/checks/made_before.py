"""What `setup` reads of a layer that it has made before: its hyperparameters are there."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.source import self_attribute


def layers_made_before(
    setup: ast.FunctionDef, imports: Mapping[str, Import]
) -> set[ast.AST]:
    """The places `self.layer` of which an attribute is read, behind the statement that makes the layer."""
    stored = (n for n in walk(setup) if isinstance(n, ast.Attribute))
    times = Counter(self_attribute(n) for n in stored if isinstance(n.ctx, ast.Store))
    return {*_read(setup.body, frozenset(), times, imports)}


def _read(
    statements: Sequence[ast.stmt],
    made: frozenset[str],
    times: Mapping[str | None, int],
    imports: Mapping[str, Import],
) -> Iterator[ast.AST]:
    for statement in statements:
        for node in walk(statement):
            if isinstance(node, ast.Attribute) and self_attribute(node.value) in made:
                yield node.value
        for field in ("body", "orelse"):
            yield from _read(getattr(statement, field, ()), made, times, imports)
        match statement:
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Name(id=called))
            ) if (name := self_attribute(target)) and times[name] == 1:
                if called in imports and imports[called].reference:
                    made |= {name}
