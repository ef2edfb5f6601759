"""Paddings that a class of PyTorch is given as a pair, `F.pad(x, self.padding)`, as two numbers."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_PADS = ("torch.nn.functional.pad",)


def with_tuple_paddings(origin: Origin) -> None:
    """Write `F.pad(x, p)` with the elements of `p`, in place, and say what the parameter is."""
    if not origin.uses("torch"):
        return
    for node in origin.classes.values():
        start = next(
            (m for m in node.body if getattr(m, "name", "") == "__init__"), None
        )
        if not isinstance(start, ast.FunctionDef):
            continue
        for call in [p for p in walk(node) if isinstance(p, ast.Call)]:
            if origin.qualified(call.func) not in _PADS or len(call.args) < 2:
                continue
            attribute = self_attribute(call.args[1])
            parameter = next(
                (
                    s.value.id
                    for s in start.body
                    if isinstance(s, ast.Assign)
                    and self_attribute(s.targets[0]) == attribute
                    and isinstance(s.value, ast.Name)
                ),
                None,
            )
            count = _length(origin, node, start, parameter) if parameter else 0
            if not count:
                continue
            given = call.args[1]
            call.args[1] = ast.Tuple(
                [
                    ast.Subscript(cloned(given), ast.Constant(i), ast.Load())
                    for i in range(count)
                ],
                ast.Load(),
            )
            for argument in start.args.args:
                if argument.arg == parameter and argument.annotation is None:
                    words = "int, ..."
                    argument.annotation = ast.parse(f"tuple[{words}]", mode="eval").body
    located(origin.tree)


def _length(
    origin: Origin, node: ast.ClassDef, start: ast.FunctionDef, parameter: str
) -> int:
    """How many numbers the file gives for a parameter; 0: that is not told, or not the same."""
    place = [a.arg for a in start.args.args].index(parameter) - 1
    found: set[int] = set()
    for scope in [p for p in walk(origin.tree) if isinstance(p, ast.FunctionDef)]:
        known = {
            s.targets[0].id: s.value
            for s in walk(scope)
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
        }
        for call in walk(scope):
            if isinstance(call, ast.Call) and is_name(call.func, node.name):
                value = next(
                    (k.value for k in call.keywords if k.arg == parameter), None
                )
                if value is None and place < len(call.args):
                    value = call.args[place]
                if value is not None:
                    found.add(_count(origin, value, known, 0))
    return found.pop() if len(found) == 1 else 0


def _count(
    origin: Origin, node: ast.expr, known: dict[str, ast.expr], depth: int
) -> int:
    match node:
        case ast.Name(id=local) if local in known and depth < 4:
            return _count(origin, known[local], known, depth + 1)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return len(elts)
        case ast.IfExp(body=body, orelse=other):
            one = _count(origin, body, known, depth + 1)
            return one if one == _count(origin, other, known, depth + 1) else 0
        case ast.Call(func=ast.Name(id=title)) if title in origin.functions:
            returned = [
                p.value
                for p in walk(origin.functions[title])
                if isinstance(p, ast.Return) and p.value is not None
            ]
            counts = {_count(origin, r, {}, depth + 1) for r in returned}
            return counts.pop() if len(counts) == 1 else 0
    return 0
