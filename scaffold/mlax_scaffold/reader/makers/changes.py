"""What a method that declares calls, and the statements that stand for it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import TypeVar

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.makers.functions import (
    Maker,
    chosen,
    makes_each,
)
from mlax_scaffold.reader.makers.inlining import (
    Names,
    Unfit,
    of_alias,
    of_table,
    statements_of,
    value_of,
)
from mlax_scaffold.reader.overriding import Line
from mlax_scaffold.reader.remedies.bindings import (
    choices_in,
    names_in,
    stored_in,
    target_name,
)
from mlax_scaffold.reader.source import parsed, self_attribute

_SOMETIMES = (
    *(ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.IfExp, ast.BoolOp),
)
"""What evaluates a part of it several times, or not at all."""

_Tree = TypeVar("_Tree", bound=ast.AST)


@dataclass(frozen=True)
class Change:
    """Statements that stand in the place of lines of a text."""

    first: int
    last: int
    statements: list[ast.stmt]
    indent: int
    place: int
    """The line that statements without one of their own are told of."""
    is_head: bool = False
    """Whether the statement goes on in the lines that follow."""

    def applied(self, lines: list[Line]) -> list[Line]:
        made: list[Line] = []
        for statement in self.statements:
            at = getattr(statement, "lineno", 0) or self.place
            number = -abs(lines[at - 1][1])
            written = unparsed(ast.fix_missing_locations(statement)).split("\n")
            if self.is_head:
                written = written[:1]
            made += [(" " * self.indent + line, number) for line in written]
        if self.last < self.first:
            at = self.last
            while lines[at - 1][0].strip().startswith("#"):
                at -= 1  # The comment belongs to what stands below.
            return [*lines[:at], *made, *lines[at:]]
        comment = lines[self.last - 1][0].partition("#:")[2]
        if comment and made:
            made[-1] = f"{made[-1][0]}  #:{comment}", made[-1][1]
        return [*lines[: self.first - 1], *made, *lines[self.last :]]


class Setup:
    """One method that declares."""

    def __init__(
        self,
        node: ast.ClassDef,
        setup: ast.FunctionDef,
        layers: Collection[str],
        declaring: dict[str, Maker],
        computing: dict[str, Maker],
    ) -> None:
        self.choices = {*choices_in(node)}
        self.texts = {
            unparsed(s.target)
            for s in node.body
            if isinstance(s, ast.AnnAssign) and unparsed(s.annotation) == "str"
        }
        self.declared = {*layers, *declaring}
        self.setup = setup
        self.declaring = declaring
        self.computing = computing
        names = [n for n in walk(setup) if isinstance(n, ast.Name)]
        stored = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        stored |= {a.arg for a in walk(setup) if isinstance(a, ast.arg)}
        stored |= {f.name for f in walk(setup) if isinstance(f, ast.FunctionDef)}
        self.names = Names(frozenset(stored - {"self"}), frozenset(n.id for n in names))
        made = {id(m.statement) for m in declaring.values()}
        self.definitions = {s for s in setup.body if id(s) in made}

    def changes(self) -> Iterator[Change]:
        for top in self.setup.body:
            if top in self.definitions:
                continue
            for statement in _statements([top]):
                head = _head(statement)
                for use in _uses(head, {**self.declaring, **self.computing}):
                    try:
                        yield self._change(top, statement, use)
                    except Unfit:
                        continue

    def _change(self, top: ast.stmt, statement: ast.stmt, use: ast.expr) -> Change:
        called = use.func if isinstance(use, ast.Call) else use
        if isinstance(called, ast.Subscript) and isinstance(use, ast.Call):
            return self._chosen(top, statement, use, called)
        if isinstance(called, ast.IfExp):
            if not {target_name(one) for one in chosen(called)} <= self.declared:
                raise Unfit
            return _replaced(statement, use, of_alias(called, use))
        name = target_name(called) or ""
        maker = self.declaring.get(name)
        if maker is None:
            return self._computed(top, statement, use, self.computing[name])
        if not isinstance(use, ast.Call):
            raise Unfit
        if maker.value or maker.partial or maker.alias:
            try:
                return _replaced(statement, use, value_of(maker, use, self.names))
            except Unfit:
                # An argument that is read twice is a local of the statements, but for a layer.
                given = [*use.args, *(k.value for k in use.keywords)]
                made = (n for part in given for n in walk(part))
                calls = [target_name(n.func) for n in made if isinstance(n, ast.Call)]
                if not maker.body or self.declared & {*calls}:
                    raise
        return self._written(statement, use, maker)

    def _chosen(
        self,
        top: ast.stmt,
        statement: ast.stmt,
        use: ast.Call,
        called: ast.Subscript,
    ) -> Change:
        """One of a dictionary of layers, by a field; one that may be any text is checked first."""
        table = called.value
        maker = self.declaring.get(target_name(table) or "")
        table = maker.table if maker is not None else table
        if not isinstance(table, ast.Dict):
            raise Unfit
        if not makes_each(table, self.declared):
            raise Unfit
        field = self_attribute(called.slice)
        choices = {choice for name, choice in self.choices if name == field}
        if field in self.texts:
            choices = {k.value for k in table.keys if isinstance(k, ast.Constant)}
            check = _one_of(field, choices)
            if not self._stands_before(top, check):
                return Change(top.lineno, top.lineno - 1, [check], top.col_offset, 0)
        made = of_table(table, called.slice, use, choices, self.names)
        return _replaced(statement, use, made)

    def _stands_before(self, top: ast.stmt, made: ast.stmt) -> bool:
        """Whether a statement was written before another one already."""
        text = ast.dump(parsed(unparsed(made)).body[0])
        before = self.setup.body[: self.setup.body.index(top)]
        return any(ast.dump(known) == text for known in before)

    def _written(self, statement: ast.stmt, use: ast.Call, maker: Maker) -> Change:
        """The statements of a function in the place of the one that calls it."""
        whole = getattr(statement, "value", None)
        adds = isinstance(whole, ast.Call) and use in whole.args
        target = getattr(statement, "targets", [None])[0]
        title = (self_attribute(target) if target is not None else "") or ""
        if whole is not use and not (isinstance(statement, ast.Expr) and adds):
            return self._beforehand(statement, use, maker, title or "made")

        def with_result(value: ast.expr | None) -> list[ast.stmt]:
            if isinstance(statement, ast.Expr) and statement.value is use:
                return [] if value is None else [ast.Expr(value)]
            if value is None:
                raise Unfit
            return _one_by_one(_with(statement, use, value))

        made = statements_of(maker, use, self.names, with_result, title)
        return _in_place_of(statement, self._kept_at_once(made))

    def _beforehand(
        self, statement: ast.stmt, use: ast.Call, maker: Maker, title: str
    ) -> Change:
        """The same before a statement in which a call is a part, whose result is a local then."""
        if not isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr):
            raise Unfit
        around = (n for n in walk(statement) if use in walk(n))
        if any(isinstance(n, _SOMETIMES) for n in around):
            raise Unfit
        taken = self.names.bound | self.names.read
        local = next(
            n for i in itertools.count(1) if (n := f"{title}_{i}") not in taken
        )

        def with_result(value: ast.expr | None) -> list[ast.stmt]:
            if value is None:
                raise Unfit
            if isinstance(value, ast.Name) and value.id == local:
                return []
            return [ast.Assign([ast.Name(local, ast.Store())], value, lineno=0)]

        made = statements_of(maker, use, self.names, with_result, local)
        return _in_place_of(statement, [*made, _with(statement, use, ast.Name(local))])

    def _kept_at_once(self, made: list[ast.stmt]) -> list[ast.stmt]:
        """What a local declares that one statement keeps is declared there."""
        for place, statement in enumerate(made):
            match statement:
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.Call(func=called) as value
                ) if target_name(called) in self.declared:
                    names = [n for s in made for n in walk(s) if _is_named(n, name)]
                    later = [
                        (i, s.value)
                        for i, s in enumerate(made)
                        if isinstance(s, ast.Assign) and _is_named(s.value, name)
                    ]
                    if len(names) == 2 and len(later) == 1:
                        at, use = later[0]
                        made = [*made]
                        made[at] = _with(made[at], use, value)
                        return self._kept_at_once(made[:place] + made[place + 1 :])
        return made

    def _computed(
        self, top: ast.stmt, statement: ast.stmt, use: ast.expr, maker: Maker
    ) -> Change:
        """A local in the place of what a method computes from fields, or of the method."""
        name = maker.name.removeprefix("self.").strip("_")
        value = maker.value
        given = use.args or use.keywords if isinstance(use, ast.Call) else []
        called = isinstance(use, ast.Call) or maker.is_property
        if called and value is not None and given:
            return _replaced(statement, use, value_of(maker, use, self.names))
        function = maker.function
        if not isinstance(function, ast.FunctionDef):
            raise Unfit
        local: ast.stmt
        new: ast.expr = ast.Name(name)
        if called and value is not None:
            local = ast.Assign([ast.Name(name, ast.Store())], deepcopy(value), lineno=0)
        else:
            body = deepcopy(maker.body)
            local = ast.FunctionDef(name, maker.parameters, body, [], function.returns)
            if isinstance(use, ast.Call):
                new = ast.Call(new, use.args, use.keywords)
            elif maker.is_property:
                new = ast.Call(new, [], [])
        ast.copy_location(local, maker.statement)
        if self._stands_before(top, local):
            return _replaced(statement, use, new)
        if name in self.names.bound | self.names.read:
            raise Unfit
        self.names.check(maker, names_in(maker.body) - _parameters(maker))
        return Change(top.lineno, top.lineno - 1, [local], top.col_offset, 0)


def _one_of(field: str, choices: Collection[object]) -> ast.If:
    """The requirement that a field is one of some texts."""
    known = sorted(map(repr, choices))
    message = f"{field} must be one of {', '.join(known)}"
    text = f"if self.{field} not in ({', '.join(known)},):\n    raise ValueError({message!r})"
    made = parsed(text).body[0]
    assert isinstance(made, ast.If)
    return made


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _parameters(maker: Maker) -> set[str]:
    return {a.arg for a in walk(maker.parameters) if isinstance(a, ast.arg)} | {
        name for name in stored_in(maker.body) if "." not in name
    }


def _replaced(statement: ast.stmt, use: ast.expr, value: ast.expr) -> Change:
    made = _with(statement, use, value)
    body = getattr(statement, "body", None)
    if not isinstance(body, list):
        return _in_place_of(statement, _one_by_one(made))
    if body[0].lineno == statement.lineno:
        raise Unfit
    made = copy(made)
    made.body, made.orelse = [ast.Pass()], []  # pyright: ignore[reportAttributeAccessIssue]
    last = body[0].lineno - 1
    place = statement.lineno
    return Change(place, last, [made], statement.col_offset, place, True)


def _in_place_of(statement: ast.stmt, made: list[ast.stmt]) -> Change:
    last = statement.end_lineno or statement.lineno
    return Change(statement.lineno, last, made, statement.col_offset, statement.lineno)


def _one_by_one(statement: ast.stmt) -> list[ast.stmt]:
    """`a, b = c, d` as two statements, where the second one does not read what the first one sets."""
    match statement:
        case ast.Assign(
            targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)
        ) if len(targets) == len(values):
            if (names_in(targets) & names_in(values)) - {"self"}:
                return [statement]
            return [
                ast.copy_location(ast.Assign([target], value), statement)
                for target, value in zip(targets, values, strict=True)
            ]
    return [statement]


def _with(node: _Tree, use: ast.expr, value: ast.expr) -> _Tree:
    """A tree with another expression in the place of one of its own."""
    if node is use:
        return value  # pyright: ignore[reportReturnType]
    made = copy(node)
    for name, part in ast.iter_fields(node):
        if isinstance(part, ast.AST):
            setattr(made, name, _with(part, use, value))
        elif isinstance(part, list):
            parts = [
                _with(p, use, value) if isinstance(p, ast.AST) else p for p in part
            ]
            setattr(made, name, parts)
    return made


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All but `elif`, which is no statement of its own."""
    for statement in body:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, [])
            match block:
                case [ast.If(col_offset=column, body=then, orelse=other)] if (
                    name == "orelse" and column == statement.col_offset
                ):
                    block = [*then, *other]
            yield from _statements(block)


def _head(statement: ast.stmt) -> list[ast.expr]:
    """The expressions of a statement, without those of the statements in it."""
    return [n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.expr)]


def _uses(nodes: Sequence[ast.AST], makers: dict[str, Maker]) -> Iterator[ast.expr]:
    """Calls of functions, and methods as values, those inside of others first."""
    for node in nodes:
        match node:
            case ast.Call(func=called) if target_name(called) in makers:
                yield from _uses([*node.args, *node.keywords], makers)
                yield node
            case ast.Call(func=ast.IfExp() | ast.Subscript(value=ast.Dict())):
                yield node
            case ast.Call(func=ast.Subscript(value=ast.Name(id=name))) if (
                name in makers and makers[name].table
            ):
                yield node
            case ast.Attribute(ctx=ast.Load()) if target_name(node) in makers:
                yield node
            case _:
                yield from _uses([*ast.iter_child_nodes(node)], makers)
