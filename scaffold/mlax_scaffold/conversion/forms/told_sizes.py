"""Fields that a layer takes as its number of features, whatever they are called: `dim: Sequence[int]`."""

from __future__ import annotations

import ast
from typing import TypeGuard

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk

_LAYERS = (
    *("flax.linen.Dense", "flax.linen.Conv", "flax.linen.Embed", "flax.nnx.Linear"),
    *("equinox.nn.Linear", "haiku.Linear"),
)


def with_told_sizes(origin: Origin) -> None:
    """Say that they are integers, in place."""
    for node in origin.classes.values():
        if framework_of(origin, node) not in ("flax", "nnx", "equinox", "haiku"):
            continue
        features = {
            a
            for part in walk(node)
            if isinstance(part, ast.Call) and origin.qualified(part.func) in _LAYERS
            for value in (
                *part.args[:1],
                *(
                    k.value
                    for k in part.keywords
                    if k.arg in ("features", "output_size")
                ),
            )
            if (a := self_attribute(value))
        }
        for part in node.body:
            title = getattr(getattr(part, "target", None), "id", "")
            if title in features and _is_sequence(part):
                kind = ast.Name("int", ast.Load())
                part.annotation = ast.copy_location(kind, part.annotation)


def _is_sequence(field: ast.stmt) -> TypeGuard[ast.AnnAssign]:
    if not isinstance(field, ast.AnnAssign):
        return False
    text = ast.unparse(field.annotation)
    return field.value is None and text.rpartition(".")[2].startswith(
        ("Sequence[int", "Tuple[int", "tuple[int", "List[int", "list[int")
    )
