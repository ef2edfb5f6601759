"""Conditions of branches: what is contrary, what excludes what, and where one of several holds.

A condition is a sequence of tests, all of which hold. Tests are compared by what is written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Tests = tuple[ast.expr, ...]
"""All of them hold; none: always."""

_INVERSE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True)
class Way:
    """A value of an attribute, and the tests that it is assigned under."""

    value: ast.expr
    tests: Tests


def ways(value: ast.expr, tests: Tests) -> Iterator[Way]:
    """The values that `a if test else b` has, each under its tests."""
    if isinstance(value, ast.IfExp):
        yield from ways(value.body, (*tests, value.test))
        yield from ways(value.orelse, (*tests, contrary(value.test)))
    else:
        yield Way(value, tests)


def contrary(test: ast.expr) -> ast.expr:
    """The test that holds where another one does not."""
    other: ast.expr = ast.UnaryOp(ast.Not(), test)
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            other = operand
        case ast.Compare(left=left, ops=[op], comparators=right) if (
            type(op) in _INVERSE
        ):
            other = ast.Compare(left, [_INVERSE[type(op)]()], right)
    return ast.copy_location(other, test)


def is_negative(test: ast.expr) -> bool:
    """Whether a test says that something does not hold."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=[ast.NotEq() | ast.NotIn() | ast.IsNot()]):
            return True
    return False


def conjunction(tests: Tests) -> ast.expr:
    """All of one test or more, as one."""
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), list(tests))


def are_apart(one: Tests, other: Tests) -> bool:
    """Whether two conditions never hold at once."""
    return any(_same(a, contrary(b)) for a in one for b in other)


def either(conditions: Sequence[Tests]) -> ast.expr | None:
    """That one of several conditions holds; None where one always does.

    Contrary branches are joined: `a and b`, or else `a and not b`, is `a`.
    """
    found = [c for c in conditions if not are_apart(c, c)]
    while (joined := _joined(found)) is not None:
        found = joined
    if () in found:
        return None
    if len(found) > 1:
        return ast.BoolOp(ast.Or(), [conjunction(c) for c in found])
    return conjunction(found[0]) if found else ast.Constant(False)


def there(ways_: Sequence[Way], is_made: Sequence[bool]) -> list[Tests]:
    """The conditions under which what is assigned last is one of those that are made."""
    found: list[Tests] = []
    for way, made in zip(ways_, is_made, strict=True):
        if made:
            found.append(way.tests)
        else:
            found = [left for c in found for left in _without(c, way.tests)]
    return found


def chosen(ways_: Sequence[Way]) -> ast.expr:
    """The value that is assigned last, where one of the ways is taken."""
    shared = [
        t for t in ways_[0].tests if all(_holds(t, way.tests) for way in ways_[1:])
    ]
    rest = [
        Way(way.value, tuple(t for t in way.tests if not _holds(t, shared)))
        for way in ways_
    ]
    pairs = ((a, b) for n, a in enumerate(rest) for b in rest[n + 1 :])
    if not all(are_apart(a.tests, b.tests) for a, b in pairs):
        rest.reverse()
    return _chain(rest)


def _chain(ways_: Sequence[Way]) -> ast.expr:
    first, *others = ways_
    if not others or not first.tests:
        return first.value
    if len(first.tests) == 1:
        known = contrary(first.tests[0])
        others = [
            Way(w.value, tuple(t for t in w.tests if not _same(t, known)))
            for w in others
        ]
    rest = _chain(others)
    if _same(first.value, rest):
        return rest
    return ast.IfExp(conjunction(first.tests), first.value, rest)


def _joined(conditions: list[Tests]) -> list[Tests] | None:
    """The conditions with two of them as one, or one of them shorter; None where nothing is left to join."""
    for n, one in enumerate(conditions):
        for m, other in enumerate(conditions):
            if n == m or not all(
                _holds(t, other) or _holds(contrary(t), other) for t in one
            ):
                continue
            opposed = [t for t in one if _holds(contrary(t), other)]
            if not opposed:  # It holds wherever the other one does.
                return [c for k, c in enumerate(conditions) if k != m]
            if len(opposed) == 1:
                away = contrary(opposed[0])
                shorter = tuple(t for t in other if not _same(t, away))
                return [shorter if k == m else c for k, c in enumerate(conditions)]
    return None


def _without(condition: Tests, excluded: Tests) -> Iterator[Tests]:
    """Where one condition holds, and another one does not."""
    if are_apart(condition, excluded):
        yield condition
        return
    for test in excluded:
        if not _holds(test, condition):
            yield (*condition, contrary(test))


def _holds(test: ast.expr, tests: Sequence[ast.expr]) -> bool:
    return any(_same(test, other) for other in tests)


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)
