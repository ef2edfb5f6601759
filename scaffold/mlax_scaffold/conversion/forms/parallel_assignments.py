"""Several names that PyTorch's code binds at once, `n, device = x.shape[1], x.device`, one by one.

What is known of shapes goes through them, and what no spec holds is left out with its own line.
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    replaced,
    targets,
    with_names,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk


def without_parallel_assignments(origin: Origin) -> None:
    """Write them so in place, where no value reads what another one is bound to."""
    if not origin.uses("torch"):
        return
    for function in walk(origin.tree):
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            _without_pairs(function)
        elif isinstance(function, ast.FunctionDef):
            read = {
                p.id
                for p in walk(function)
                if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load)
            }
            for part in walk(function):
                for field in ("body", "orelse"):
                    body = getattr(part, field, None)
                    if isinstance(body, list) and body:
                        made = [s for node in body for s in _one_by_one(node, read)]
                        setattr(part, field, made)
    located(origin.tree)


def _without_pairs(start: ast.FunctionDef) -> None:
    """Write `height, width = size, size` out: both are that parameter."""
    given = {a.arg for a in (*start.args.args, *start.args.kwonlyargs)}
    bound = [t for s in start.body for t in targets(s)]
    both: dict[str, ast.expr] = {}
    body: list[ast.stmt] = []
    for part in start.body:
        match part:
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=a), ast.Name(id=b)])],
                value=ast.Tuple(elts=[ast.Name(id=c), ast.Name(id=d)]),
            ) if c == d and c in given and c not in bound:
                if bound.count(a) == bound.count(b) == 1:
                    both |= {a: ast.Name(c, ast.Load()), b: ast.Name(c, ast.Load())}
                    continue
        body.append(part)
    if both:
        start.body = [with_names(s, both) for s in body]


def _one_by_one(node: ast.stmt, read: set[str]) -> list[ast.stmt]:
    match node:
        case ast.Assign(
            targets=[ast.Tuple(elts=[*places])], value=ast.Tuple(elts=[*values])
        ):
            pairs = _pairs(places, values, read)
        case ast.Assign(
            targets=[ast.Tuple(elts=[*places])],
            value=ast.ListComp(elt=elt, generators=[one])
            | ast.GeneratorExp(elt=elt, generators=[one]),
        ):
            pairs = _of_each(places, elt, one)
        case _:
            return [node]
    if pairs is None:
        return [node]
    bound: set[str] = set()
    made: list[ast.stmt] = []
    for place, value in pairs:
        if names(value) & bound:
            return [node]
        bound |= {*targets(place)}
        one = ast.Assign([place], value)
        made.append(located(ast.copy_location(one, node)))
    return made if any(not isinstance(v, ast.Name) for _, v in pairs) else [node]


def _of_each(
    places: list[ast.expr], element: ast.expr, loop: ast.comprehension
) -> list[tuple[ast.expr, ast.expr]] | None:
    """`q, k, v = [f(x) for f, x in zip(self.maps, (q, k, v))]`: what is bound to each."""
    if loop.ifs:
        return None
    target, given = loop.target, [loop.iter]
    if isinstance(target, ast.Tuple):
        if not isinstance(loop.iter, ast.Call) or not is_name(loop.iter.func, "zip"):
            return None
        given = loop.iter.args
    bound = target.elts if isinstance(target, ast.Tuple) else [target]
    if len(bound) != len(given) or not all(isinstance(b, ast.Name) for b in bound):
        return None
    if not any(isinstance(g, ast.Tuple | ast.List) for g in given):
        return None
    found: list[tuple[ast.expr, ast.expr]] = []
    for i, place in enumerate(places):
        values: dict[str, ast.expr] = {}
        for name, source in zip(bound, given, strict=True):
            assert isinstance(name, ast.Name)
            if isinstance(source, ast.Tuple | ast.List):
                if len(source.elts) != len(places):
                    return None
                values[name.id] = source.elts[i]
            elif isinstance(source, ast.Name | ast.Attribute):
                at = ast.Constant(i)
                values[name.id] = ast.Subscript(source, at, ast.Load())
            else:
                return None
        found.append((place, replaced(element, values)))
    return found


def _pairs(
    places: list[ast.expr], values: list[ast.expr], read: set[str]
) -> list[tuple[ast.expr, ast.expr]] | None:
    """What is bound to what; None where that is not told by the places."""
    starred = [i for i, p in enumerate(places) if isinstance(p, ast.Starred)]
    spread = [i for i, v in enumerate(values) if isinstance(v, ast.Starred)]
    if not starred and not spread:
        return [*zip(places, values, strict=True)] if len(places) == len(values) else None  # fmt: skip
    if not starred and len(spread) == 1:
        # `q, k, v = f(x), *g(x)`
        [at] = spread
        after = len(values) - at - 1
        inner = values[at].value  # type: ignore[attr-defined]
        several = places[at : len(places) - after]
        if len(several) < 2:
            return None
        first = [*zip(places[:at], values[:at], strict=True)]
        last = [*zip(places[len(places) - after :], values[at + 1 :], strict=True)]
        return [*first, (ast.Tuple(several, ast.Store()), inner), *last]
    if len(starred) == 1 and spread == [0]:
        # `b, *_, device = *x.shape, x.device`
        [at] = starred
        rest = places[at].value  # type: ignore[attr-defined]
        after = len(places) - at - 1
        if not is_name(rest, getattr(rest, "id", "")) or rest.id in read:
            return None
        if after > len(values) - 1:
            return None
        inner = values[0].value  # type: ignore[attr-defined]
        if not isinstance(inner, ast.Attribute):
            return None
        first = [
            (p, ast.Subscript(cloned(inner), ast.Constant(i), ast.Load()))
            for i, p in enumerate(places[:at])
        ]
        last = zip(places[at + 1 :], values[len(values) - after :], strict=True)
        return [*first, *last]
    return None
