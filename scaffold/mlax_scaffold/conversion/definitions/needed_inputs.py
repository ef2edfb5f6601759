"""Inputs that may be left out by the original, and that layers are as large as: they are always given here.

def __call__(self, t, condition=None):
    if condition is not None:
        t = jnp.concatenate([t, condition], axis=-1)
    return nn.Dense(8)(t)

What flax and haiku infer of the first call, a layer has: `Linear(t_features + condition_features, 8)`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.trees import self_attribute
from mlax_scaffold.conversion.source.walking import walk


def with_needed_inputs(
    forward: ast.FunctionDef,
    setup: Collection[ast.stmt],
    added: Collection[str],
    notes: Notes,
) -> None:
    """Take their defaults away, in place, which is told.

    Args:
        forward: the call, with the types of its inputs.
        setup: what declares the layers.
        added: the sizes that the original tells by its inputs.
        notes: where to tell it.
    """
    given = forward.args
    joined = {
        attribute
        for part in setup
        for total in walk(part)
        if isinstance(total, ast.BinOp) and isinstance(total.op, ast.Add)
        for inner in walk(total)
        if (attribute := self_attribute(inner)) in added
    }
    # One behind another that may be left out keeps its place so.
    while given.defaults:
        argument = given.args[len(given.args) - len(given.defaults)]
        match argument.annotation, given.defaults[0]:
            case ast.BinOp(left=kind, right=ast.Constant(None)), ast.Constant(None):
                pass
            case _:
                return
        axes = ast.unparse(kind).replace("'", " ").replace('"', " ").split()
        if not joined & {*axes}:
            return
        argument.annotation = kind
        del given.defaults[0]
        notes.remark(
            forward,
            f"`{argument.arg}` is always given here: layers are as large as it says",
            "write another spec for calls without it",
        )
