"""Functions with conditions as functions of straight lines: each branch is a part of an expression.

if nesterov:                        becomes     step = b * m + g if nesterov else m
    step = b * m + g
else:
    step = m
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.trees import names, replaced, targets
from mlax_scaffold.conversion.source.walking import cloned, located


def straighten(function: ast.FunctionDef) -> None:
    """Write its conditions as expressions, in place; those that are not followed stay."""
    for part in function.body:
        if isinstance(part, ast.FunctionDef):
            straighten(part)
    bound = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    function.body = straightened(function.body, bound)
    located(function)


def straightened(body: list[ast.stmt], bound: set[str]) -> list[ast.stmt]:
    """Statements whose conditions are expressions, of those that follow names that are bound."""
    made: list[ast.stmt] = []
    known = set(bound)
    for at, part in enumerate(body):
        found: list[ast.stmt] | None = [part]
        match part:
            case ast.AugAssign(target=ast.Name(id=local), op=op, value=value):
                read = ast.Name(local, ast.Load())
                found = [_assigned(local, ast.BinOp(read, op, value), part)]
            case ast.If() if not _raises(part):
                if returned := _returned(part, body[at + 1 :], known):
                    return made + returned
                found = _chosen(part, known)
        if found is None:
            return made + body[at:]
        for one in found:
            known |= set(targets(one))
        made += found
    return made


def _raises(node: ast.If) -> bool:
    return any(isinstance(part, ast.Raise) for part in node.body)


def _assigned(local: str, value: ast.expr, like: ast.stmt) -> ast.stmt:
    made = ast.Assign([ast.Name(local, ast.Store())], value)
    return located(ast.copy_location(made, like))


def _chosen(node: ast.If, known: set[str]) -> list[ast.stmt] | None:
    """What the branches assign, one name after the other; None where they do more than that."""
    one, other = (_values(straightened(b, known)) for b in (node.body, node.orelse))
    if any(isinstance(part, ast.Raise) for part in node.orelse):
        # The other branch is the one that is taken wherever there is a result.
        other, known = {}, set[str]()
    if one is None or other is None:
        return None
    made: list[ast.stmt] = []
    for local in {**one, **other}:
        before = ast.Name(local, ast.Load()) if local in known else None
        sides = [side.get(local, before) for side in (one, other)]
        there = [side for side in sides if side is not None]
        if len(there) == 1:
            # Nothing reads it where the condition does not hold.
            made.append(_assigned(local, there[0], node))
            continue
        test = cloned(node.test)
        made.append(_assigned(local, ast.IfExp(test, there[0], there[1]), node))
    assigned = {**one, **other}.keys()
    own = all(
        local not in names(part.value) or local in targets(part)  # type: ignore[attr-defined]
        for part in made
        for local in assigned
    )
    return made if own and not names(node.test) & assigned else None


def _values(body: list[ast.stmt]) -> dict[str, ast.expr] | None:
    """What a branch leaves in each name, of what the names held before it."""
    found: dict[str, ast.expr] = {}
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                found[local] = replaced(value, found)
            case ast.Pass():
                continue
            case _:
                return None
    return found


def _returned(
    node: ast.If, rest: list[ast.stmt], known: set[str]
) -> list[ast.stmt] | None:
    """`if c: return a`, and a return behind it, as one return; None for others."""
    first = _result(straightened(node.body, known))
    if first is None:
        return None
    after = straightened([*node.orelse, *rest], known)
    last = after[-1] if after else None
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    rebound = {local for part in after[:-1] for local in targets(part)}
    if rebound & (names(first) | names(node.test)):
        return None
    value = _either(node.test, first, last.value)
    return [*after[:-1], ast.copy_location(ast.Return(value), last)]


def _either(test: ast.expr, one: ast.expr, other: ast.expr) -> ast.expr:
    """One or the other; tuples of one length are chosen from element by element."""
    match one, other:
        case ast.Tuple(elts=mine), ast.Tuple(elts=others) if len(mine) == len(others):
            pairs = zip(mine, others, strict=True)
            return ast.Tuple([_either(test, a, b) for a, b in pairs], ast.Load())
    if ast.unparse(one) == ast.unparse(other):
        return one
    return ast.IfExp(cloned(test), one, other)


def _result(body: list[ast.stmt]) -> ast.expr | None:
    """What a branch returns, as one expression."""
    if not body or not isinstance(body[-1], ast.Return):
        return None
    before, value = _values(body[:-1]), body[-1].value
    return replaced(value, before) if before is not None and value is not None else None
