"""Layers of which one is there: `self.norm = BatchNorm(n) if batch else LayerNorm(n)`, one attribute for all.

What is read declares each of them by itself, under its condition, and calls them by a method:
`if self.norm_0 is not None: return self.norm_0(x)`, and so on for the others.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from mlax_scaffold.conversion.output.description import Described, SpecText
from mlax_scaffold.conversion.source.trees import (
    expression,
    is_none,
    negated,
    same,
    self_attribute,
    statement,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


def with_choices(spec: SpecText) -> SpecText:
    """The spec, in which such layers are declared and called as one."""
    made = [_chosen(d) if isinstance(d, Described) else d for d in spec.definitions]
    return replace(spec, definitions=tuple(made))


def _chosen(definition: Described) -> Described:
    setup = cloned([*definition.setup])
    methods = _with_tails(cloned([*definition.methods]))
    taken = {f.name for f in definition.fields} | {m.name for m in methods}
    for method in [*methods]:
        title = _merged(method, setup, methods, taken)
        if title and _is_call(method, title):
            methods.remove(method)
            _renamed(methods, method.name, title)
    return replace(definition, setup=tuple(setup), methods=tuple(methods))


def _with_tails(methods: list[ast.FunctionDef]) -> list[ast.FunctionDef]:
    """The methods, where what one ends with, and what nothing else calls, is written out in it."""
    for method in [*methods]:
        while method.body and (last := _called(method.body[-1], method)) is not None:
            tail = next((m for m in methods if m.name == last[0]), None)
            if tail is None or tail is method or _count(methods, tail.name) > 1:
                break
            if not same(method.args, tail.args):
                break
            method.body[-1:] = tail.body
            methods.remove(tail)
    return methods


def _merged(
    method: ast.FunctionDef,
    setup: list[ast.stmt],
    methods: Sequence[ast.FunctionDef],
    taken: set[str],
) -> str:
    """The name under which layers are declared that a method chooses from; "" where there are none."""
    first, found = _places(method)
    places, counts = [place for place, _ in found], {count for _, count in found}
    stands = [i for i, s in enumerate(setup) if _declared(s) in places]
    if not places or [_declared(setup[i]) for i in stands] != places:
        return ""
    last = stands[0] + len(places)
    chosen = _alternatives([s.value for s in setup[stands[0] : last]])  # type: ignore[attr-defined]
    uses = sum(_count(methods, p) for p in places)
    own = sum(_count([s], p) for s in method.body for p in places)
    if stands != [*range(stands[0], last)] or chosen is None or uses != own:
        return ""
    others = {_declared(s) for s in setup} - {*places}
    title = method.name.removeprefix("_")
    if any(isinstance(s, ast.Assign) for s in method.body[:first]):
        title = places[0].removesuffix("_0")  # One of a sequence.
    if title in taken | others:
        title = places[0]
    value, always = chosen
    if len(counts) > 1 and not (always and first == 0):
        return ""  # What is called is not given the same.
    setup[stands[0] : last] = [statement(f"self.{title} = v", v=value)]
    call = _call(title, method, max(counts))
    if always:
        method.body[first:] = [ast.Return(call)]
    else:
        there = expression(f"self.{title} is not None")
        method.body[first : first + len(places)] = [
            ast.If(there, [ast.Return(call)], [])
        ]
    return title


def _places(method: ast.FunctionDef) -> tuple[int, list[tuple[str, int]]]:
    """The layers that a method tries one after the other, and where it begins to."""
    first, found = 0, []
    for i, node in enumerate(method.body):
        inner, guarded = node, isinstance(node, ast.If) and not node.orelse
        if guarded and len(node.body) == 1:  # type: ignore[attr-defined]
            inner = node.body[0]  # type: ignore[attr-defined]
        called = _called(inner, method)
        if called is not None and guarded:
            there = expression(f"self.{called[0]} is not None")
            called = called if same(node.test, there) else None  # type: ignore[attr-defined]
        if called is not None:
            first = first if found else i
            found.append(called)
        elif found:
            break
    return first, found


def _called(node: ast.stmt, method: ast.FunctionDef) -> tuple[str, int] | None:
    """The attribute that a statement returns the call of, with so many of the inputs of its method."""
    if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Call):
        return None
    title, count = self_attribute(node.value.func), len(node.value.args)
    if title is None or not same(node.value, _call(title, method, count)):
        return None
    return title, count


def _call(title: str, method: ast.FunctionDef, count: int) -> ast.Call:
    given = [a.arg for a in method.args.args[1:]][:count]
    return expression(f"self.{title}({', '.join(given)})")  # type: ignore[return-value]


def _is_call(method: ast.FunctionDef, title: str) -> bool:
    called = _called(method.body[0], method)
    return len(method.body) == 1 and called is not None and called[0] == title


def _declared(node: ast.stmt) -> str | None:
    """The attribute that a statement of `setup` declares where a condition holds."""
    if not isinstance(node, ast.Assign):
        return None
    return self_attribute(node.targets[0])


def _alternatives(values: Sequence[ast.expr]) -> tuple[ast.expr, bool] | None:
    """One expression for values each of which is there where those before are not; whether one always is."""
    if not all(isinstance(v, ast.IfExp) and is_none(v.orelse) for v in values):
        return None
    tests = [_parts(v.test) for v in values]  # type: ignore[attr-defined]
    if len(values) == 1:
        return values[0], False
    standing: list[ast.expr] = []
    while all(len(t) > 1 and same(t[0], tests[0][0]) for t in tests):
        standing.append(tests[0][0])
        tests = [t[1:] for t in tests]
    before: list[ast.expr] = []
    own: list[ast.expr | None] = []
    for test in tests:
        head, rest = test[: len(before)], test[len(before) :]
        if len(head) != len(before) or not all(map(same, head, before)):
            return None
        if not rest and test is not tests[-1]:
            return None
        own.append(_all(rest) if rest else None)
        before.append(negated(_all(rest)) if rest else ast.Constant(True))
    made: ast.expr = ast.Constant(None)
    for test, value in zip(reversed(own), reversed(values), strict=True):
        layer = value.body  # type: ignore[attr-defined]
        made = layer if test is None else ast.IfExp(test, layer, made)
    if standing:
        made = ast.IfExp(_all(standing), made, ast.Constant(None))
    return made, own[-1] is None and not standing


def _parts(test: ast.expr) -> list[ast.expr]:
    """Conditions that all have to hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in _parts(value)]
    return [test]


def _all(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _count(nodes: Sequence[ast.AST], title: str) -> int:
    """How often an attribute of self is read or set."""
    parts = (part for node in nodes for part in walk(node))
    return sum(self_attribute(part) == title for part in parts)


def _renamed(methods: Sequence[ast.FunctionDef], old: str, new: str) -> None:
    for method in methods:
        for part in walk(method):
            if isinstance(part, ast.Attribute) and self_attribute(part) == old:
                part.attr = new
