"""Inputs that an LSTM carries: pairs of arrays."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.declarations.building import Attribute
from mlax_scaffold.conversion.source.trees import is_layer, self_attribute

_LSTM = "@layer:LSTMCell"


def pairs_carried(
    forward: ast.FunctionDef,
    attributes: Mapping[str, Attribute],
    *,
    carry_first: bool,
    own: Mapping[str, list[int]],
) -> set[str]:
    """The names of such inputs in a method.

    Args:
        forward: the method.
        attributes: what the class declares.
        carry_first: whether the carry stands before the input where a cell is called.
        own: which inputs of classes of the file are pairs, by the mark of each.
    """
    given = {a.arg for a in (*forward.args.args, *forward.args.kwonlyargs)}
    local = {
        part.targets[0].id: part.value
        for part in ast.walk(forward)
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }
    place = 0 if carry_first else 1
    found: set[str] = set()
    for part in ast.walk(forward):
        if not isinstance(part, ast.Call):
            continue
        known = attributes.get(self_attribute(part.func) or "")
        func = part.func
        if isinstance(func, ast.Name):
            func = local.get(func.id, func)
        mark = known.layer if known is not None else ""
        if isinstance(func, ast.Call) and is_layer(func):
            mark = ast.unparse(func.func)
        places = [place] if mark == _LSTM else own.get(mark, [])
        for at in places:
            carried = part.args[at] if len(part.args) > at else None
            if isinstance(carried, ast.Name) and carried.id in given:
                found.add(carried.id)
    return found
