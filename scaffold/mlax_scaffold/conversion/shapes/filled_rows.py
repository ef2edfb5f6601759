"""Arrays that setup makes of a list of numbers, which loops make longer: how many there are.

starts = [0]
for size in self.sizes[:-1]:                `self.starts` has `len(self.sizes)` numbers
    starts.append(starts[-1] + size)
self.starts = np.asarray(starts)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import expression, literal, same
from mlax_scaffold.conversion.source.walking import walk

UNTOLD = ast.Name("@untold", ast.Load())
"""A length that the statements do not tell."""
_ARRAYS = ("asarray", "array", "cumsum")


def row_of(setup: list[ast.stmt], node: ast.expr) -> ast.expr | None:
    """How many numbers an array has that is made of a list; None of any other array."""
    for place in reversed(range(len(setup))):
        match setup[place]:
            case ast.Assign(targets=[target], value=value) if same(target, node):
                pass
            case _:
                continue
        match value:
            case ast.Call(func=func, args=[inner, *_]) if (
                ast.unparse(func).rpartition(".")[2] in _ARRAYS
            ):
                count = _numbers(inner)
                return row_of(setup[:place], inner) if count is None else count
            case ast.Name() | ast.Attribute():
                return row_of(setup[:place], value)
        count = _numbers(value)
        return _longer(setup[place + 1 :], node, count) if count is not None else None
    return None


def _numbers(node: ast.expr) -> ast.expr | None:
    """How many numbers stand in a list."""
    elements = node.elts if isinstance(node, ast.List) else []
    if elements and all(type(literal(e)) in (int, float) for e in elements):
        return ast.Constant(len(elements))
    return None


def _longer(body: list[ast.stmt], node: ast.expr, count: ast.expr) -> ast.expr:
    """How many there are after statements, each of which appends one in each pass, or nothing."""
    known, passes = literal(count), None
    for part in body:
        grown = [
            p
            for p in walk(part)
            if isinstance(p, ast.Call)
            and isinstance(p.func, ast.Attribute)
            and same(p.func.value, node)
        ]
        if not grown:
            continue
        once = isinstance(part, ast.For) and any(
            isinstance(s, ast.Expr) and s.value is grown[0] for s in part.body
        )
        appends = grown[0].func.attr == "append"  # type: ignore[attr-defined]
        if len(grown) > 1 or not appends or not once or passes is not None:
            return UNTOLD
        passes = _passes(part.iter)  # type: ignore[attr-defined]
        if passes is None:
            return UNTOLD
    if passes is None:
        return count
    length, fewer = passes
    return length if known == fewer else UNTOLD


def _passes(source: ast.expr) -> tuple[ast.expr, int] | None:
    """What a loop goes over, as a length and how many passes it has fewer than that."""
    match source:
        case ast.Subscript(
            value=ast.Attribute() as whole,
            slice=ast.Slice(lower=None, upper=upper, step=None),
        ) if upper is not None and isinstance(left := literal(upper), int) and left < 0:
            return expression("len(a)", a=whole), -left
        case ast.Attribute():
            return expression("len(a)", a=source), 0
    return None
