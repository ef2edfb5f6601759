"""The functions that a `setup` calls: which of them declare, and which compute from fields alone."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import target_name
from mlax_scaffold.reader.source import dotted, is_none, self_attribute

_PROPERTIES = ("property", "functools.cached_property", "cached_property")
_PARTIAL = ("functools.partial", "partial")

Statement = ast.FunctionDef | ast.Assign | ast.If


@dataclass(frozen=True)
class Maker:
    """A function by the name that it is called by: `make`, or `self.make`."""

    name: str
    statement: Statement
    """Its definition: a function, or what assigns a lambda, `functools.partial` or another name to it.

    Branches may each assign a name to it.
    """
    local: bool = False
    """Whether it sees the names of `setup`."""

    @property
    def function(self) -> ast.FunctionDef | ast.Lambda | None:
        """None for that of `functools.partial`, and for another name."""
        if isinstance(self.statement, ast.FunctionDef):
            return self.statement
        value = getattr(self.statement, "value", None)
        return value if isinstance(value, ast.Lambda) else None

    @property
    def partial(self) -> ast.Call | None:
        value = getattr(self.statement, "value", None)
        return value if isinstance(value, ast.Call) else None

    @property
    def alias(self) -> ast.expr | None:
        """What it is another name for: a name, or one of two by a condition."""
        found = _assigned(self.statement)
        return found[1] if found else None

    @property
    def table(self) -> ast.Dict | None:
        """The dictionary of what it may be."""
        value = getattr(self.statement, "value", None)
        return value if isinstance(value, ast.Dict) else None

    @property
    def is_method(self) -> bool:
        return self.name.startswith("self.")

    @property
    def is_property(self) -> bool:
        return any(d in _PROPERTIES for d in _decorators(self.statement))

    @cached_property
    def parameters(self) -> ast.arguments:
        """Without `self`."""
        function = self.function
        assert function is not None
        given = function.args
        bare = self.is_method and "staticmethod" not in _decorators(self.statement)
        if not bare:
            return given
        return ast.arguments(
            posonlyargs=given.posonlyargs,
            args=given.args[1:],
            vararg=given.vararg,
            kwonlyargs=given.kwonlyargs,
            kw_defaults=given.kw_defaults,
            kwarg=given.kwarg,
            defaults=given.defaults,
        )

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements, without a docstring."""
        function = self.function
        if function is None:
            return []
        if isinstance(function, ast.Lambda):
            return [ast.copy_location(ast.Return(function.body), function)]
        first, *others = function.body
        documented = isinstance(first, ast.Expr) and isinstance(
            first.value, ast.Constant
        )
        return others if documented else function.body

    @property
    def value(self) -> ast.expr | None:
        """What it returns, where it does nothing else."""
        match self.body:
            case [ast.Return(value=ast.expr() as value)]:
                return value
        return None


def makers_of(
    tree: ast.Module,
    node: ast.ClassDef,
    setup: ast.FunctionDef,
    layers: Collection[str],
) -> tuple[dict[str, Maker], dict[str, Maker]]:
    """The functions that declare, and the methods that compute from fields, by their names.

    Args:
        tree: of the file.
        node: the class.
        setup: its method that declares.
        layers: the names of what is declared by a call: layers, and the words for arrays.
    """
    bound, outside = _bindings(setup), Counter[str]()
    for statement in tree.body:
        named = isinstance(statement, ast.FunctionDef | ast.ClassDef)
        outside += Counter([statement.name]) if named else _bindings(statement)
    beside = {
        m.name: m
        for m in _functions(tree.body)
        if m.name not in bound
        and outside[m.name] == max(1, _bindings(m.statement)[m.name])
    }
    local = {
        m.name: replace(m, local=True)
        for m in _functions(setup.body)
        if bound[m.name] == _bindings(m.statement)[m.name]
    }
    methods = {
        name: Maker(name, method)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and _is_plain(method)
        for name in [f"self.{method.name}"]
    }
    known = beside | local | methods
    known = {n: m for n, m in known.items() if not _calls(m, {n})}
    declaring: dict[str, Maker] = {}
    while more := {
        name: maker
        for name, maker in known.items()
        if name not in declaring and _calls(maker, {*layers, *declaring})
    }:
        declaring |= more
    held = _fields(node) | _derived(setup, {*layers, *declaring})
    computing = {n: m for n, m in methods.items() if n in known.keys() - declaring}
    while others := [
        name
        for name, maker in computing.items()
        if not _reads(maker) <= held | computing.keys()
    ]:
        for name in others:
            del computing[name]
    return declaring, computing


def _bindings(node: ast.AST) -> Counter[str]:
    """How often each name is bound in a tree: one that is bound again stands for more than one thing."""
    found: Counter[str] = Counter()
    for part in walk(node):
        match part:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                found[name] += 1
            case ast.FunctionDef(name=name):
                found[name] += 1
    return found


def _functions(body: Iterable[ast.stmt]) -> Iterator[Maker]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name, decorator_list=[]):
                yield Maker(name, statement)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
                yield Maker(name, statement)
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=called, args=[_, *_])
            ) if dotted(called) in _PARTIAL:
                yield Maker(name, statement)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=[_, *_])):
                yield Maker(name, statement)
            case ast.Assign() | ast.If() if found := _assigned(statement):
                yield Maker(found[0], statement)


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """What is bound to other names, one or by a condition: `a = b`, in each of two branches, too."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if all(
            isinstance(one, ast.Name) for one in chosen(value)
        ):
            return name, value
        case ast.If(test=test, body=[first], orelse=[second]):
            one, other = _assigned(first), _assigned(second)
            if one and other and one[0] == other[0]:
                return one[0], ast.IfExp(test, one[1], other[1])
    return None


def chosen(value: ast.expr) -> Iterator[ast.expr]:
    """What an expression may be: itself, or one of the two of a condition, and so on."""
    if isinstance(value, ast.IfExp):
        yield from chosen(value.body)
        yield from chosen(value.orelse)
    else:
        yield value


def _decorators(statement: ast.stmt) -> list[str]:
    return [unparsed(d) for d in getattr(statement, "decorator_list", ())]


def _is_plain(method: ast.FunctionDef) -> bool:
    return all(d in (*_PROPERTIES, "staticmethod") for d in _decorators(method))


def _calls(maker: Maker, names: Collection[str]) -> bool:
    """Whether one of these is called in a function, or is what `functools.partial` calls."""
    if maker.partial is not None:
        return target_name(maker.partial.args[0]) in names
    if maker.alias is not None:
        return all(target_name(one) in names for one in chosen(maker.alias))
    if maker.table is not None:
        return makes_each(maker.table, names)
    nodes = (n for statement in maker.body for n in walk(statement))
    return any(isinstance(n, ast.Call) and target_name(n.func) in names for n in nodes)


def makes_each(table: ast.Dict, names: Collection[str]) -> bool:
    """Whether the values of a dictionary are of these, or lambdas that call one, or give None."""
    made = [_makes(value, names) for value in table.values]
    none = [
        isinstance(value, ast.Lambda) and is_none(value.body) for value in table.values
    ]
    return any(made) and all(a or b for a, b in zip(made, none, strict=True))


def _makes(value: ast.expr, names: Collection[str]) -> bool:
    if isinstance(value, ast.Lambda):
        calls = (n for n in walk(value.body) if isinstance(n, ast.Call))
        return any(target_name(call.func) in names for call in calls)
    return target_name(value) in names


def _reads(maker: Maker) -> set[str]:
    """The attributes of self that a method reads; it writes none."""
    found = set()
    for part in (n for statement in maker.body for n in walk(statement)):
        if isinstance(part, ast.Attribute) and (name := self_attribute(part)):
            found.add(f"self.{name}" if isinstance(part.ctx, ast.Load) else "")
    return found


def _fields(node: ast.ClassDef) -> set[str]:
    """Those of a class, and its constants."""
    found = set()
    for statement in node.body:
        match statement:
            case (
                ast.AnnAssign(target=ast.Name(id=name))
                | ast.Assign(targets=[ast.Name(id=name)])
            ):
                found.add(f"self.{name}")
    return found


def _derived(setup: ast.FunctionDef, declaring: Collection[str]) -> set[str]:
    """What `setup` computes and keeps."""
    found: dict[str, bool] = {}
    for statement in walk(setup):
        if not isinstance(statement, ast.Assign):
            continue
        calls = (n for n in walk(statement.value) if isinstance(n, ast.Call))
        declares = any(target_name(c.func) in declaring for c in calls)
        for name in map(self_attribute, statement.targets):
            if name:
                found[f"self.{name}"] = found.get(f"self.{name}", True) and not declares
    return {name for name, computed in found.items() if computed}
