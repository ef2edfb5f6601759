"""Lists of layers of which the last element goes again: it is not appended in the last pass.

for a, b in zip(sizes, sizes[1:]):
    layers += [nn.Linear(a, b), nn.ReLU()]
layers.pop()

becomes

for place, (a, b) in enumerate(zip(sizes, sizes[1:])):
    layers += [nn.Linear(a, b)]
    if place < len(sizes) - 2:
        layers.append(nn.ReLU())
"""

from __future__ import annotations

import ast
import itertools

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_name,
    literal,
    name,
    names,
    same,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_last_elements(origin: Origin) -> None:
    """Write the loops of constructors so, in place."""
    for node in origin.classes.values():
        start = method_of(node, "__init__")
        if start is None or framework_of(origin, node) != "torch":
            continue
        changed = False
        for part in [*start.body]:
            shortened = _shortened(part)
            if shortened is not None:
                changed |= _within(start, part, shortened)
        if changed:
            located(node)


def _shortened(part: ast.stmt) -> ast.expr | None:
    """The list whose last element a statement takes out; None of others."""
    match part:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=held, attr="pop"), args=args)
        ) if not args or literal(args[0]) == -1:
            return held
        case ast.Delete(targets=[ast.Subscript(value=held, slice=at)]) if (
            literal(at) == -1
        ):
            return held
        case ast.Assign(
            targets=[held],
            value=ast.Subscript(value=read, slice=ast.Slice(lower=None, upper=end)),
        ) if end is not None and literal(end) == -1 and same(_read(held), read):
            return read
    return None


def _read(node: ast.expr) -> ast.expr:
    """What is bound, as it is read."""
    made = cloned(node)
    if isinstance(made, ast.Name | ast.Attribute):
        made.ctx = ast.Load()
    return made


def _within(start: ast.FunctionDef, part: ast.stmt, held: ast.expr) -> bool:
    """Whether the loop that fills the list is written so."""
    before = start.body[: start.body.index(part)]
    reading = [s for s in before if any(same(n, held) for n in walk(s))]
    if not reading or not isinstance(reading[-1], ast.For):
        return False
    loop = reading[-1]
    last = loop.body[-1]
    spare = _appended(last, held)
    if not spare or loop.orelse:
        return False
    taken = {n for s in start.body for n in names(s)}
    place, count = _counted(loop, taken)
    if not place or count is None:
        return False
    *kept, end = spare
    test = expression("place < count", place=name(place), count=count)
    append = ast.Expr(expression("held.append(end)", held=cloned(held), end=end))
    body: list[ast.stmt] = [
        ast.Expr(expression("held.append(one)", held=cloned(held), one=one))
        for one in kept
    ]
    body.append(ast.If(test, [append], []))
    loop.body[-1:] = [ast.copy_location(s, last) for s in body]
    start.body.remove(part)
    return True


def _appended(part: ast.stmt, held: ast.expr) -> list[ast.expr]:
    """What a statement appends to the list; nothing of others."""
    match part:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=to, attr="append"), args=[one], keywords=[]
            )
        ) if same(to, held):
            return [one]
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=to, attr="extend"),
                args=[ast.List(elts=elts) | ast.Tuple(elts=elts)],
                keywords=[],
            )
        ) if same(to, held):
            return [*elts]
        case ast.AugAssign(
            target=to, op=ast.Add(), value=ast.List(elts=elts) | ast.Tuple(elts=elts)
        ) if same(_read(to), held):
            return [*elts]
    return []


def _counted(loop: ast.For, taken: set[str]) -> tuple[str, ast.expr | None]:
    """The number of a pass, which the loop counts from then on, and that of the last one."""
    if _calls(loop.iter, "range") and isinstance(loop.target, ast.Name):
        end = loop.iter.args[:2][-1]  # type: ignore[attr-defined]
        if len(loop.iter.args) < 3:  # type: ignore[attr-defined]
            unused = loop.target.id == "_"
            if unused:
                loop.target.id = _free(taken)
            return loop.target.id, expression("end - 1", end=cloned(end))
        return "", None
    if _calls(loop.iter, "enumerate") and len(loop.iter.args) == 1:  # type: ignore[attr-defined]
        match loop.target:
            case ast.Tuple(elts=[ast.Name(id=place), _]):
                return place, _last(loop.iter.args[0])  # type: ignore[attr-defined]
        return "", None
    last = _last(loop.iter)
    if last is None:
        return "", None
    place = _free(taken)
    loop.target = ast.Tuple([ast.Name(place, ast.Store()), loop.target], ast.Store())
    loop.iter = expression("enumerate(over)", over=loop.iter)
    return place, last


def _last(over: ast.expr) -> ast.expr | None:
    """The number of the last pass over something; None where that is not told."""
    if _calls(over, "zip"):
        lasts = [_last(one) for one in over.args]  # type: ignore[attr-defined]
        told = [one for one in lasts if one is not None]
        shorter = [one for one in told if isinstance(one, ast.BinOp)]
        texts = {ast.unparse(one) for one in shorter if literal(one.right) == 2}
        # `zip(sizes, sizes[1:])` ends with the shorter one.
        if len(told) == len(lasts) and len(texts) == 1:
            return next(o for o in shorter if ast.unparse(o) in texts)
        return told[0] if len(told) == len(lasts) == 1 else None
    match over:
        case ast.Subscript(
            value=inner, slice=ast.Slice(lower=low, upper=high, step=None)
        ):
            one = (low is not None and literal(low) == 1 and high is None) or (
                low is None and high is not None and literal(high) == -1
            )
            return expression("len(over) - 2", over=cloned(inner)) if one else None
        case ast.Name() | ast.Attribute():
            if isinstance(over, ast.Name) or self_attribute(over) is not None:
                return expression("len(over) - 1", over=cloned(over))
    return None


def _calls(node: ast.expr, title: str) -> bool:
    return (
        isinstance(node, ast.Call) and is_name(node.func, title) and not node.keywords
    )


def _free(taken: set[str]) -> str:
    numbers = (f"place_{i}" for i in itertools.count(2))
    return next(n for n in itertools.chain(["place"], numbers) if n not in taken)
