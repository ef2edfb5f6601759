"""The number of a step that a method of an optimizer takes, as the attribute that its step has."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bodies import removed, without_brackets
from mlax_scaffold.reader.remedies.counters import one_more
from mlax_scaffold.reader.remedies.modes import STEPS
from mlax_scaffold.reader.remedies.names import placed
from mlax_scaffold.reader.source import Source

_NAMES = frozenset((*STEPS, "i", "it", "step"))


def names_step(method: ast.FunctionDef, expected: tuple[str, ...]) -> ast.arg | None:
    """The parameter of an optimizer's method that is the number of a step by its name, where there is one."""
    args = method.args
    others = args.posonlyargs or args.vararg or args.kwarg
    if expected[1:2] not in (("grad",), ("grads",), ("updates",)) or others:
        return None
    given = (*args.args[1:], *args.kwonlyargs)
    found = [a for a in given if a.arg in _NAMES and a.arg not in expected]
    return found[0] if len(found) == 1 else None


def handed_step(
    source: Source, method: ast.FunctionDef, expected: tuple[str, ...]
) -> Fix | None:
    """`def update(self, grad, param, count)` without its count, which is `self.step` in it.

    That is counted from 1. None where the method does not say from where its own is, or sets it to anything
    but the next number.
    """
    number = names_step(method, expected)
    if number is None or number is method.args.args[1] or method.args.defaults:
        return None
    name = number.arg
    uses = [n for n in walk(method) if isinstance(n, ast.Name) and n.id == name]
    parents = {id(c): p for p in walk(method) for c in ast.iter_child_nodes(p)}
    raised = [s for s in method.body if _raises(s, name)]
    stored = [n for n in uses if not isinstance(n.ctx, ast.Load)]
    if len(raised) > 1 or len(stored) != len(raised):
        return None
    read = [n for n in uses if not any(n in [*walk(s)] for s in raised)]
    if not placed(source, read, [name]):
        return None
    from_zero = bool(raised) or any(_is_from_zero(parents[id(n)], n) for n in read)
    if from_zero == any(_is_from_one(parents[id(n)], n) for n in read) and not raised:
        return None
    edits: dict[Edit, None] = {_without(source, method, number): None}
    for statement in raised:
        edits[removed(source, statement)] = None
    for use in read:
        after = not from_zero or any(use.lineno > s.lineno for s in raised)
        whole = parents[id(use)]
        step = "self.step_number" if _is_exact(use, parents) else "self.step"
        if after:
            edits[source.edit(use, step)] = None
        elif isinstance(whole, ast.BinOp) and _is_next(whole, name):
            edits[without_brackets(source, whole, step)] = None
        elif isinstance(whole, ast.Compare) and whole.left is use and _is_zero(whole):
            edits[source.edit(use, step)] = None
            edits[source.edit(whole.comparators[0], "1")] = None
        else:
            edits[source.edit(use, f"({step} - 1)")] = None
    return Fix((*edits,))


def _raises(statement: ast.stmt, name: str) -> bool:
    """Whether it is `count = count + 1`, or `count += 1`."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.BinOp() as value):
            return target == name and _is_next(value, name)
        case ast.AugAssign(
            target=ast.Name(id=target), op=ast.Add(), value=ast.Constant(value=1)
        ):
            return target == name
    return False


def _is_next(node: ast.BinOp, name: str) -> bool:
    """Whether an expression is `count + 1`."""
    number, _ = one_more(node) or (None, None)
    return isinstance(number, ast.Name) and number.id == name


def _is_from_zero(parent: ast.AST, use: ast.Name) -> bool:
    """Whether a use tells that the first step has the number 0: `count + 1`, `count == 0`."""
    if isinstance(parent, ast.BinOp):
        return _is_next(parent, use.id)
    return isinstance(parent, ast.Compare) and _is_zero(parent)


def _is_zero(test: ast.Compare) -> bool:
    """Whether it asks of the first step whether it is that: `count == 0`, `count > 0`."""
    match test:
        case ast.Compare(ops=[op], comparators=[ast.Constant(value=0)]):
            return isinstance(op, ast.Eq | ast.NotEq | ast.Gt | ast.LtE)
    return False


def _is_from_one(parent: ast.AST, use: ast.Name) -> bool:
    """Whether a use tells that the first step has the number 1: `b**t`, `1 / t`, `t == 1`."""
    match parent:
        case ast.BinOp(op=ast.Pow() | ast.Div(), right=right):
            return right is use
        case ast.Compare(ops=[op], comparators=[ast.Constant(value=1)]):
            return isinstance(op, ast.Eq | ast.NotEq | ast.Gt | ast.LtE)
        case ast.BinOp(op=ast.Sub(), left=left, right=ast.Constant(value=1)):
            return left is use
    return False


def _is_exact(use: ast.Name, parents: dict[int, ast.AST]) -> bool:
    """Whether a number is compared, or an index: it is then a whole one."""
    node: ast.AST = use
    while isinstance(node := parents[id(node)], ast.BinOp):
        if isinstance(node.op, ast.Pow | ast.Div):
            return False
    return isinstance(node, ast.Compare | ast.Subscript)


def _without(source: Source, method: ast.FunctionDef, number: ast.arg) -> Edit:
    """The parameters of a method without one of them."""
    given: Sequence[ast.arg] = method.args.args
    named = [a for a in method.args.kwonlyargs if a is not number]
    kept = [source.text_of(a) for a in given if a is not number]
    texts = [*kept, *(["*"] if named else []), *map(source.text_of, named)]
    last = (*given, *method.args.kwonlyargs)[-1]
    return source.replace(source.start(given[0]), source.end(last), ", ".join(texts))
