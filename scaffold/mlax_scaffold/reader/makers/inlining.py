"""What a function does, written where it is called."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass

from mlax_scaffold.model.arithmetic import COMPARE
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.makers.functions import Maker
from mlax_scaffold.reader.remedies.bindings import (
    Substituted,
    chain_of,
    names_in,
    stored_in,
    target_name,
)
from mlax_scaffold.reader.source import self_attribute


class Unfit(Exception):
    """A function, or a call of it, that cannot be written out."""


@dataclass(frozen=True)
class Names:
    """Those of the method that calls."""

    bound: frozenset[str]
    read: frozenset[str]
    """All, with those of modules and of builtins."""

    def check(self, maker: Maker, free: Collection[str]) -> None:
        """What a function reads that stands elsewhere means the same here."""
        if not maker.local and self.bound & {*free}:
            raise Unfit


def value_of(maker: Maker, call: ast.expr, names: Names) -> ast.expr:
    """The expression that a call stands for, of a function that is one.

    Args:
        maker: the function.
        call: its call; of a property, the attribute.
        names: those of where it is called.

    Raises:
        Unfit: where it is more than an expression, or the call does not fit it.
    """
    if maker.partial is not None:
        return _of_partial(maker.partial, call)
    if maker.alias is not None:
        return of_alias(maker.alias, call)
    value = maker.value
    if value is None:
        raise Unfit
    given = _arguments(maker, call)
    uses = [n.id for n in walk(value) if isinstance(n, ast.Name)]
    if any(uses.count(name) > 1 and not _is_short(v) for name, v in given.items()):
        raise Unfit
    own = stored_in([ast.Expr(value)])
    if own & names_in(given.values()):
        raise Unfit
    names.check(maker, {*uses} - given.keys() - own)
    return _Settled().visit(Substituted(given).visit(deepcopy(value)))


def statements_of(
    maker: Maker,
    call: ast.expr,
    names: Names,
    use: Callable[[ast.expr | None], list[ast.stmt]],
    preferred: str,
) -> list[ast.stmt]:
    """The statements that a call stands for.

    Args:
        maker: the function.
        call: its call.
        names: those of where it is called: the function's own become others.
        use: what is done with the result; None where there is none.
        preferred: what the local that it returns becomes, where that is free.

    Raises:
        Unfit: where it returns out of a loop, or the call does not fit it.
    """
    given = _arguments(maker, call)
    body = deepcopy(maker.body)
    changed = stored_in(body)
    new_names: dict[str, ast.expr] = {}
    first: list[ast.stmt] = []
    returned = {
        n.value.id
        for s in body
        for n in walk(s)
        if isinstance(n, ast.Return) and isinstance(n.value, ast.Name)
    }
    own = {*given, *(n for n in changed if "." not in n)}
    there = {*names.read, *names.bound, *own}
    for name in sorted(own):
        if name in given and name not in changed and _is_short(given[name]):
            new_names[name] = given[name]
            continue
        new = name
        if name in returned and preferred and preferred not in there:
            new = preferred
        while new in (names.read | names.bound) - {"_"}:
            new += "_"
        there.add(new)
        if name in given:
            target = ast.Name(new, ast.Store())
            first.append(ast.Assign([target], deepcopy(given[name]), lineno=0))
        if new != name:
            new_names[name] = ast.Name(new)
    names.check(maker, names_in(body) - own)
    known = ast.Module([_Renamed(new_names).visit(s) for s in body], [])
    return [*first, *_without_returns(_Settled().visit(known).body, use)]


class _Renamed(ast.NodeTransformer):
    """Puts other names, or what they hold, in the place of names."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        new = self.values.get(node.id)
        if isinstance(new, ast.Name) and not isinstance(node.ctx, ast.Load):
            return ast.Name(new.id, node.ctx)
        return node if new is None else deepcopy(new)


class _Settled(ast.NodeTransformer):
    """Leaves out branches that the arguments of a call decide against."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        holds = _holds(node.test)
        if holds is None:
            return node
        return node.body if holds else node.orelse

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        holds = _holds(node.test)
        if holds is None:
            return node
        return node.body if holds else node.orelse


def _holds(test: ast.expr) -> bool | None:
    """Whether a condition of constants holds; None: it is none."""
    match test:
        case ast.Constant(value=bool() | None as value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            holds = _holds(operand)
            return None if holds is None else not holds
        case ast.Compare(
            left=ast.Constant(value=left),
            ops=[ast.Is() | ast.IsNot() as op],
            comparators=[ast.Constant(value=None)],
        ):
            return (left is None) is isinstance(op, ast.Is)
        case ast.Compare(
            left=ast.Constant(value=left),
            ops=[op],
            comparators=[ast.Constant(value=right)],
        ) if type(op) in COMPARE and type(left) is type(right) in (int, float, str):
            return COMPARE[type(op)](left, right)
    return None


def _without_returns(
    body: Sequence[ast.stmt], use: Callable[[ast.expr | None], list[ast.stmt]]
) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    body = _refused_first(body)
    for place, statement in enumerate(body):
        after = body[place + 1 :]
        if isinstance(statement, ast.Return):
            return [*made, *_at(statement, use(statement.value))]
        if isinstance(statement, ast.If) and _returns(statement):
            then, other = statement.body, statement.orelse
            branch = ast.If(
                statement.test,
                _without_returns([*then, *after], use) or [ast.Pass()],
                _without_returns([*other, *after], use),
            )
            return [*made, ast.copy_location(branch, statement)]
        if not isinstance(statement, ast.FunctionDef) and _returns(statement):
            raise Unfit
        made.append(statement)
    return [*made, *use(None)]


def _refused_first(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Branches that return, and what is raised where none does, as a requirement before them."""
    for place in range(len(body)):
        branches: list[tuple[ast.expr, list[ast.stmt]]] = []
        for later in body[place:]:
            chain, other = (
                chain_of(later) if isinstance(later, ast.If) else ([], [later])
            )
            if not all(isinstance(then[-1], ast.Return) for _, then in chain):
                break
            branches += chain
            match other:
                case []:
                    continue
                case [ast.Raise() as raised] if branches:
                    return [*body[:place], *_required(branches, raised)]
            break
    return body


def _required(
    branches: Sequence[tuple[ast.expr, list[ast.stmt]]], raised: ast.Raise
) -> list[ast.stmt]:
    *before, (last, then) = branches
    rest: list[ast.stmt] = then
    tests = deepcopy([*(test for test, _ in before), last])
    known = ast.BoolOp(ast.Or(), tests) if before else last
    refused = ast.If(ast.UnaryOp(ast.Not(), known), [raised], [])
    for test, then in reversed(before):
        rest = [ast.copy_location(ast.If(test, then, rest), test)]
    return [ast.copy_location(refused, raised), *rest]


def _at(place: ast.stmt, statements: list[ast.stmt]) -> list[ast.stmt]:
    return [ast.copy_location(s, place) for s in statements]


def _returns(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return) for n in walk(statement))


def _arguments(maker: Maker, call: ast.expr) -> dict[str, ast.expr]:
    """What each parameter is given."""
    if not isinstance(call, ast.Call):
        return {}
    parameters = maker.parameters
    names = [a.arg for a in (*parameters.posonlyargs, *parameters.args)]
    if parameters.kwarg or any(k.arg is None for k in call.keywords):
        raise Unfit
    defaults = dict(
        zip(
            names[len(names) - len(parameters.defaults) :],
            parameters.defaults,
            strict=True,
        )
    )
    for name, default in zip(
        parameters.kwonlyargs, parameters.kw_defaults, strict=True
    ):
        names.append(name.arg)
        if default is not None:
            defaults[name.arg] = default
    positional = len(names) - len(parameters.kwonlyargs)
    args = _unpacked(call.args, positional, bool(parameters.defaults))
    given = dict(zip(names[:positional], args, strict=False))
    rest = args[positional:]
    if parameters.vararg:
        given[parameters.vararg.arg] = ast.Tuple(list(rest), ast.Load())
    elif rest and not (len(rest) == 1 and args is not call.args):
        raise Unfit
    for keyword in call.keywords:
        if keyword.arg in given or keyword.arg not in names:
            raise Unfit
        given[keyword.arg] = keyword.value
    if {*names} - given.keys() - defaults.keys():
        raise Unfit
    return defaults | given


def _unpacked(args: list[ast.expr], positional: int, optional: bool) -> list[ast.expr]:
    """What a call gives to so many parameters, and further ones: of `*row` its items, `row[0]` and so on.

    Raises:
        Unfit: where what is unpacked has no name, is not the last, or may be of fewer parameters.
    """
    early = [a for a in args[:positional] if isinstance(a, ast.Starred)]
    if not early:
        return args
    *first, last = args
    if optional or early != [last] or not _is_short(early[0].value):
        raise Unfit
    row, count = early[0].value, positional - len(first)
    items: list[ast.expr] = [
        ast.Subscript(deepcopy(row), ast.Constant(i), ast.Load()) for i in range(count)
    ]
    rest = ast.Subscript(row, ast.Slice(ast.Constant(count)), ast.Load())
    return [*first, *items, ast.Starred(rest, ast.Load())]


def _of_partial(partial: ast.Call, call: ast.expr) -> ast.expr:
    if not isinstance(call, ast.Call):
        raise Unfit
    later = {k.arg for k in call.keywords}
    kept = [k for k in partial.keywords if k.arg is None or k.arg not in later]
    first, *args = partial.args
    return ast.Call(
        deepcopy(first),
        [*deepcopy(args), *call.args],
        [*call.keywords, *deepcopy(kept)],
    )


def of_alias(alias: ast.expr, call: ast.expr) -> ast.expr:
    """The call of what a name stands for; that of a condition is a condition of calls."""
    if not isinstance(call, ast.Call):
        raise Unfit
    if isinstance(alias, ast.IfExp):
        parts = (of_alias(part, call) for part in (alias.body, alias.orelse))
        return ast.IfExp(deepcopy(alias.test), *parts)
    return ast.Call(deepcopy(alias), deepcopy(call.args), deepcopy(call.keywords))


def of_table(
    table: ast.Dict,
    key: ast.expr,
    call: ast.Call,
    choices: Collection[object],
    names: Names,
) -> ast.expr:
    """The call of what a dictionary has under a key, as a condition of calls.

    Raises:
        Unfit: where the key may be none of those of the dictionary.
    """
    keys = [k.value for k in table.keys if isinstance(k, ast.Constant)]
    if len(keys) < len(table.keys) or {*keys} != {*choices}:
        raise Unfit
    made = [_of_value(value, call, names) for value in table.values]
    whole = made[-1]
    for name, one in zip(keys[-2::-1], made[-2::-1], strict=True):
        test = ast.Compare(deepcopy(key), [ast.Eq()], [ast.Constant(name)])
        whole = ast.IfExp(test, one, whole)
    return whole


def _of_value(value: ast.expr, call: ast.Call, names: Names) -> ast.expr:
    if isinstance(value, ast.Lambda):
        lambda_ = Maker("", ast.Assign([ast.Name("_", ast.Store())], value), local=True)
        return value_of(lambda_, call, names)
    return of_alias(value, call)


def _is_short(value: ast.expr) -> bool:
    """Whether an expression may stand in several places: it is a name, a field or a constant."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_short, value.elts))
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Constant) and _is_short(value.value)
    return (
        isinstance(value, ast.Constant)
        or target_name(value) is not None
        or (isinstance(value, ast.UnaryOp) and _is_short(value.operand))
        or self_attribute(value) is not None
    )
