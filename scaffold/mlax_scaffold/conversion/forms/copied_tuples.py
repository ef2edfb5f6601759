"""Attributes that are a tuple of what is given, `self.sizes = tuple(sizes)`, as what is given.

Sequences of hyperparameters are tuples already.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.arguments_of import arguments_given, method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk

_SEQUENCES = ("Sequence[", "tuple[", "Tuple[", "Iterable[", "List[", "list[")


def without_copied_tuples(origin: Origin) -> None:
    """Write them so, in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None:
            continue
        given = {
            a.arg
            for a in arguments_given(start)
            if a.annotation is not None
            and ast.unparse(a.annotation)
            .rpartition("typing.")[2]
            .startswith(_SEQUENCES)
        }
        bound = [
            part.id
            for part in walk(start)
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        ]
        for part in start.body:
            match part:
                case ast.Assign(
                    targets=[target],
                    value=ast.Call(
                        func=ast.Name(id="tuple"), args=[ast.Name(id=title) as held]
                    ),
                ) if self_attribute(target) and title in given and title not in bound:
                    part.value = held
