"""What `setup` declares: by which statements, in which form, and what is in each container.

It is one walk over the statements, in the order of the text, which follows lists and dictionaries through
locals, loops, conditions and local functions. What a call declares, the caller says: the reader knows
references, the eager runtime classes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from mlax_scaffold.model.conditions import Way, contrary
from mlax_scaffold.model.places import DICT, LIST, Member, Step, under
from mlax_scaffold.reader.source import is_none, self_attribute

KindOf = Callable[[ast.Call], Any]
"""What a call declares; None: nothing."""


class Form(Enum):
    """How an attribute is declared."""

    PLAIN = "plain"
    """By calls of one kind, each of which may be one of several branches, or None."""
    ROW = "row"
    """By one list, of layers of one kind, in no branch."""
    TREE = "tree"
    """In any other way that declares something."""
    VALUE = "value"
    """It declares nothing."""


@dataclass
class Declared:
    """One attribute of self, or a local of `setup`."""

    ways: list[Way] = field(default_factory=list)
    """What is assigned to it, in the order of the text."""
    members: dict[Member, None] = field(default_factory=dict)
    grows: bool = False
    """Whether items are added to it one by one."""
    repeated: bool = False
    """Whether it is assigned in a loop."""
    first: ast.stmt | None = None

    def add(self, members: Iterable[Member]) -> None:
        """Members that it also has."""
        self.members |= dict.fromkeys(members)

    @property
    def values(self) -> list[ast.expr]:
        """What is assigned to it."""
        return [way.value for way in self.ways]

    @property
    def in_branch(self) -> bool:
        """Whether its first assignment of a declaration stands in a branch."""
        made = [way for way in self.ways if not is_none(way.value)]
        return bool(made and made[0].tests)

    @property
    def holds(self) -> bool:
        """Whether it is a container in which something is declared."""
        return self.form is not Form.VALUE and all(m.steps for m in self.members)

    @property
    def form(self) -> Form:
        found = [m for m in self.members if m.what is not None]
        if not found:
            return Form.VALUE
        kinds = {m.what for m in found}
        nested = any(m.nested for m in found)
        if len(kinds) == 1 and not self.grows and not nested:
            plain = all(map(_is_plain, self.values)) and not any(
                m.steps or m.what is None for m in self.members
            )
            if plain:
                return Form.PLAIN
            alone = len(self.values) == 1 and not self.in_branch
            if alone and all(len(m.steps) == 1 for m in self.members):
                value = self.values[0]
                calls = isinstance(value, ast.ListComp) and [value.elt]
                if isinstance(value, ast.List):
                    calls = value.elts
                if calls and all(isinstance(c, ast.Call) for c in calls):
                    return Form.ROW
        return Form.TREE


def declared_in(setup: ast.FunctionDef, kind_of: KindOf) -> dict[str, Declared]:
    """What each attribute of self is that `setup` assigns to, in the order of the text."""
    walk = _Walk(kind_of)
    # Twice: what a loop makes may be used by what stands before it.
    for _ in range(2):
        walk.body(setup.body, (), repeated=False)
    names = {n: d for n, d in walk.cells.items() if n.startswith("self.")}
    for declared in names.values():
        if any(not m.steps and m.what is not None for m in declared.members):
            values = (v for v in declared.values if not is_none(v))
            if not all(map(walk.members, values)):
                declared.add([Member((), None)])
    return {name.removeprefix("self."): found for name, found in names.items()}


class _Walk:
    def __init__(self, kind_of: KindOf) -> None:
        self.kind_of = kind_of
        self.cells: dict[str, Declared] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self.called: list[str] = []

    def cell(self, name: str) -> Declared:
        return self.cells.setdefault(name, Declared())

    def body(
        self, body: list[ast.stmt], conditions: tuple[ast.expr, ...], repeated: bool
    ) -> None:
        for statement in body:
            self._statement(statement, conditions, repeated)

    def _statement(
        self, statement: ast.stmt, conditions: tuple[ast.expr, ...], repeated: bool
    ) -> None:
        match statement:
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                self._assigned(statement, target, value, conditions, repeated)
            case ast.AugAssign(target=target, value=value):
                cell = self.cell(_name(target))
                cell.grows = True
                cell.add(_anywhere(self.members(value)))
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=owner, attr=attr), args=[*_, given]
                )
            ):
                self._added(owner, attr, given)
            case ast.FunctionDef(name=name):
                self.functions[name] = statement
            case ast.If(test=test, body=then, orelse=otherwise):
                self.body(then, (*conditions, test), repeated)
                self.body(otherwise, (*conditions, contrary(test)), repeated)
            case ast.For(body=inner) | ast.While(body=inner):
                self._loop(statement)
                self.body(inner, conditions, repeated=True)

    def _loop(self, loop: ast.For | ast.While) -> None:
        """The variable of a loop over members."""
        if isinstance(loop, ast.For):
            items = under(self.members(loop.iter), [Step("")])
            if items and isinstance(loop.target, ast.Name):
                self.cell(loop.target.id).add(items)

    def _assigned(
        self,
        statement: ast.stmt,
        target: ast.expr,
        value: ast.expr,
        conditions: tuple[ast.expr, ...],
        repeated: bool,
    ) -> None:
        if isinstance(target, ast.Subscript):
            steps, owner = [], target
            while isinstance(owner, ast.Subscript):
                steps.insert(0, _step(owner.slice))
                owner = owner.value
            cell = self.cell(_name(owner))
            cell.grows = True
            if not steps[0].container and any(map(_is_dictionary, cell.values)):
                steps[0] = replace(steps[0], container=DICT)
            found = self.members(value)
            for step in reversed(steps):
                found = [m.below(step) for m in found]
            cell.add(found)
            return
        name = _name(target)
        if not name:
            return
        cell = self.cell(name)
        if value not in cell.values:
            cell.ways.append(Way(value, conditions))
            cell.repeated = cell.repeated or repeated
            if cell.first is None and not is_none(value):
                cell.first = statement
        cell.add(self.members(value))

    def _added(self, owner: ast.expr, how: str, given: ast.expr) -> None:
        found = self.members(given)
        if not found:
            return
        cell = self.cell(_name(owner))
        cell.grows = True
        match how:
            case "append" | "insert":
                cell.add(m.below(Step(LIST)) for m in found)
            case "extend" | "update":
                cell.add(_anywhere(found))

    def members(self, node: ast.expr) -> list[Member]:
        """What is at each place of a value; nothing where nothing is declared in it."""
        found = list(self._members(node))
        return found if any(m.what is not None for m in found) else []

    def _members(self, node: ast.expr) -> Iterator[Member]:
        match node:
            case ast.Call() if (what := self.kind_of(node)) is not None:
                given = [*node.args, *(k.value for k in node.keywords)]
                inner = [m for a in given for m in self.members(a)]
                nested = (n for m in inner for n in (m.what, *m.nested))
                yield Member((), what, tuple(dict.fromkeys(n for n in nested if n)))
            case ast.List(elts=items) | ast.Tuple(elts=items):
                fixed = True
                for number, item in enumerate(items):
                    if isinstance(item, ast.Starred):
                        fixed = False
                        yield from _anywhere(self.members(item.value))
                        continue
                    step = Step(LIST, number if fixed else None)
                    yield from self._item(step, item)
            case ast.ListComp(elt=item) | ast.GeneratorExp(elt=item):
                self._variables(node)
                yield from self._item(Step(LIST), item)
            case ast.Dict(keys=keys, values=items):
                for key, item in zip(keys, items, strict=True):
                    if key is None:
                        yield from self.members(item)
                    else:
                        yield from self._item(_step(key, DICT), item)
            case ast.DictComp(value=item):
                self._variables(node)
                yield from self._item(Step(DICT), item)
            case (
                ast.IfExp(body=first, orelse=second)
                | ast.BinOp(op=ast.Add(), left=first, right=second)
            ):
                parts = self.members(first), self.members(second)
                both = [m for part in parts for m in part]
                if isinstance(node, ast.BinOp):
                    yield from _anywhere(m for m in both if m.steps)
                    return
                yield from both
                values = zip(parts, (first, second), strict=True)
                if any(not part and not is_none(value) for part, value in values):
                    yield Member((), None)
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=given):
                for keyword in given:
                    if keyword.arg is not None:
                        yield from self._item(Step(DICT, keyword.arg), keyword.value)
            case ast.Call(
                func=ast.Name(id="list" | "tuple" | "dict" | "reversed"), args=[inner]
            ):
                yield from self.members(inner)
            case ast.Call(func=ast.Name(id=name)) if name in self.functions:
                yield from self._result(name)
            case ast.Subscript(value=owner, slice=ast.Slice()):
                yield from _anywhere(self.members(owner))
            case ast.Subscript(value=owner, slice=index):
                yield from under(self.members(owner), [_step(index)])
            case ast.Name() | ast.Attribute() if _name(node) in self.cells:
                yield from self.cells[_name(node)].members

    def _item(self, step: Step, node: ast.expr) -> Iterator[Member]:
        if isinstance(node, ast.Starred):
            yield from _anywhere(self.members(node.value))
            return
        found = self.members(node) or [Member((), None)]
        yield from (m.below(step) for m in found)

    def _variables(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> None:
        for generator in node.generators:
            loop = ast.For(generator.target, generator.iter, [], [])
            self._loop(loop)

    def _result(self, name: str) -> Iterator[Member]:
        """What a local function returns."""
        if name in self.called:
            return
        self.called.append(name)
        function = self.functions[name]
        self.body(function.body, (), repeated=True)
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                yield from self.members(node.value)
        self.called.remove(name)


def _anywhere(members: Iterable[Member]) -> Iterator[Member]:
    """The members of a container that is joined to another."""
    for m in members:
        if m.steps and m.steps[0].container == LIST:
            yield Member((Step(LIST), *m.steps[1:]), m.what, m.nested)
        else:
            yield m


def _step(index: ast.expr, container: str = "") -> Step:
    match index:
        case ast.Constant(value=str(key)):
            return Step(DICT, key)
        case ast.Constant(value=int(key)):
            return Step(container, key)
        case ast.JoinedStr():
            return Step(DICT)
    return Step(container)


def step_of(index: ast.expr) -> Step:
    """The step that a subscript takes."""
    return _step(index)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    name = self_attribute(node)
    return f"self.{name}" if name else ""


def _is_dictionary(value: ast.expr) -> bool:
    match value:
        case ast.Dict() | ast.DictComp() | ast.Call(func=ast.Name(id="dict")):
            return True
    return False


def _is_plain(value: ast.expr) -> bool:
    """Whether a value is a call, or None, or the one where a condition holds."""
    if isinstance(value, ast.IfExp):
        parts = value.body, value.orelse
        return any(map(is_none, parts)) and any(isinstance(p, ast.Call) for p in parts)
    return isinstance(value, ast.Call) or is_none(value)
