"""Inputs that are tuples of arrays: what an LSTM carries."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.declarations.building import Attribute
from mlax_scaffold.conversion.shapes.values import Array, Several
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.trees import is_layer, self_attribute
from mlax_scaffold.conversion.source.walking import walk

_LSTM = "@layer:LSTMCell"
_PAIR = Several([None, None])


def pairs_carried(
    forward: ast.FunctionDef,
    attributes: Mapping[str, Attribute],
    *,
    carry_first: bool,
    own: Mapping[str, Mapping[int, Several]],
) -> dict[str, Several]:
    """The inputs of a method that it hands to what carries such, by name.

    Args:
        forward: the method.
        attributes: what the class declares.
        carry_first: whether the carry stands before the input where a cell is called.
        own: which inputs of classes of the file are tuples, by the mark of each.
    """
    given = {a.arg for a in (*forward.args.args, *forward.args.kwonlyargs)}
    local = {
        part.targets[0].id: part.value
        for part in walk(forward)
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }
    place = 0 if carry_first else 1
    handed: dict[str, Several] = {}
    for part in walk(forward):
        if not isinstance(part, ast.Call):
            continue
        known = attributes.get(self_attribute(part.func) or "")
        func = part.func
        if isinstance(func, ast.Name):
            func = local.get(func.id, func)
        mark = known.layer if known is not None else ""
        if isinstance(func, ast.Call) and is_layer(func):
            mark = ast.unparse(func.func)
        places = {place: _PAIR} if mark == _LSTM else own.get(mark, {})
        for at, wanted in places.items():
            carried = part.args[at] if len(part.args) > at else None
            if isinstance(carried, ast.Name):
                handed[carried.id] = _of_arrays(wanted)
    for part in walk(forward):
        match part:
            case ast.Call(
                func=ast.Attribute(attr="scan"),
                args=[ast.Name(id=step), ast.Name(id=begun), *_],
            ):
                # What a scan begins with is what its steps carry.
                carried_there = _first_of(forward, step)
                if carried_there in handed:
                    handed.setdefault(begun, handed[carried_there])
    found = {title: pair for title, pair in handed.items() if title in given}
    for part in forward.body:
        match part:
            case ast.Assign(
                targets=[ast.Tuple(elts=[*elts])], value=ast.Name(id=title)
            ) if title in given - found.keys():
                titles = [getattr(e, "id", "") for e in elts]
                if handed.keys() & {*titles}:
                    # A pair beside others, `state, last = carry`.
                    parts = [handed.get(t, Array([], True)) for t in titles]
                    found[title] = Several([*parts])
    return found


def _first_of(method: ast.FunctionDef, title: str) -> str:
    """The first parameter of a function inside of a method."""
    return next(
        (
            part.args.args[0].arg
            for part in walk(method)
            if isinstance(part, ast.FunctionDef) and part.name == title
            if part.args.args
        ),
        "",
    )


def _of_arrays(wanted: Several) -> Several:
    """A tuple of that structure."""
    return Several(
        [
            _of_arrays(i) if isinstance(i, Several) else Array([], True)
            for i in wanted.items
        ]
    )


def tell_pairs(notes: Notes, call: ast.AST) -> None:
    """Tell that haiku has the parts of such a pair in the other order."""
    notes.remark(
        call,
        "the state of an LSTM is the pair (cell, hidden)",
        "swap what haiku calls LSTMState(hidden, cell)",
    )
