"""Buffers of PyTorch that wait for their numbers: a checkpoint, or who trains, fills them.

self.register_buffer("mean", torch.zeros(dim))
self.register_buffer("std", torch.ones(dim))

Nothing computes with zeros that never change: they are states, as what PyTorch saves with the weights.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_ZEROS = ("torch.zeros", "torch.empty")


def waits_for_numbers(origin: Origin, node: ast.AST, made: ast.AST) -> bool:
    """Whether a statement registers such a buffer: of zeros, or of ones beside zeros of its shape."""
    shape = _shape(origin, made, (*_ZEROS, "torch.ones"))
    if shape is None:
        return False
    others = (_shape(origin, part, _ZEROS) for part in walk(node))
    return any(other == shape for other in others)


def _shape(origin: Origin, node: ast.AST, kinds: tuple[str, ...]) -> str | None:
    """What a saved buffer of floating numbers is as large as; None for all else."""
    match node:
        case ast.Call(func=func, args=[_, ast.Call() as value, *rest]) if (
            self_attribute(func) == "register_buffer"
            and origin.qualified(value.func) in kinds
        ):
            kept = [*rest, *(k.value for k in node.keywords if k.arg == "persistent")]
            plain = {k.arg for k in value.keywords} <= {"device"}
            saved = all(literal(k) is not False for k in kept)
            return (
                str([ast.unparse(a) for a in value.args]) if plain and saved else None
            )
    return None
