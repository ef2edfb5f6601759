"""Steps of optimizers that are written for one leaf of the weights."""

from __future__ import annotations

import ast

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.read_names import bound_in
from mlax_scaffold.reader.remedies.names import retitled
from mlax_scaffold.reader.source import Source


def computed_with(step: ast.FunctionDef) -> str | None:
    """The gradients or the weights of a step that it does arithmetic with, which trees have none of.

    None where it does with neither.
    """
    inputs = [a.arg for a in step.args.args[1:3]]
    bound = bound_in(n for n in walk(step) if n not in step.args.args)
    for node in walk(step):
        match node:
            case ast.BinOp(left=left, right=right):
                operands = (left, right)
            case ast.UnaryOp(op=ast.USub(), operand=only):
                operands = (only,)
            case _:
                continue
        for operand in operands:
            if isinstance(operand, ast.Name) and operand.id in {*inputs} - bound:
                return operand.id
    return None


def as_update(source: Source, step: ast.FunctionDef) -> Fix | None:
    """The method by the name of the one that is called for each leaf."""
    edit = retitled(source, step, "update")
    return Fix((edit,)) if edit else None
