"""Where the names of a method hold what one statement gave them.

A name may stand for a place, `layer = self.layers[i]`, and be read as the place itself, only where no other
statement, and no other pass of a loop, may have given it another one.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeGuard

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.evaluation import COMPREHENSIONS

_BLOCKS = ("body", "orelse", "finalbody")


class Reaching:
    """What the statements of a method bind, and which reads of a name each of them reaches."""

    def __init__(self, method: ast.FunctionDef) -> None:
        self.method = method

    def is_read_there(self, binding: ast.AST, name: str, of: Collection[str]) -> bool:
        """Whether all reads of a name see the last statement above them in its block, which binds it anew.

        Args:
            binding: one of the nodes that bind the name.
            name: the name.
            of: the names that its value is made of, which nothing may bind where the name is read.
        """
        reads = self._named(name, ast.Load)
        if len(self.stores(name)) > 1 and any(id(n) in self._later for n in reads):
            return False
        reached: set[int] = set()
        for statement, rest in self._bindings(name):
            region = _region(statement, rest, name)
            reached |= {id(n) for part in region for n in walk(part)}
            while region and not _has(region[-1], name):
                region.pop()
            if binding in walk(statement) and _stores(region, of):
                return False
        return all(id(n) in reached for n in reads)

    def is_fixed(self, variable: str, name: str) -> bool:
        """Whether a variable is still what it was when a name was bound, wherever that is read.

        It is the variable of a loop, each pass of which binds the name before it reads it.
        """
        stores = self.stores(variable)
        for loop in walk(self.method):
            if isinstance(loop, ast.For) and len(stores) == 1:
                uses = [n for n in self._names if n.id == name]
                inside = {id(n) for part in loop.body for n in walk(part)}
                if stores[0] in walk(loop.target):
                    within = all(id(n) in inside for n in uses)
                    return within and _binds_first(loop.body, name)
        return not stores

    def stored_in(self, target: ast.AST) -> list[ast.Name]:
        """The names that a target binds."""
        return [n for n in walk(target) if _is_store(n)]

    def stores(self, name: str) -> list[ast.Name]:
        """The nodes that bind a name, but those of functions and comprehensions for themselves."""
        return self._named(name, ast.Store)

    @cached_property
    def _names(self) -> list[ast.Name]:
        return [n for n in walk(self.method) if _is_name(n)]

    @cached_property
    def _own(self) -> set[int]:
        """The nodes of names that an inner function or a comprehension binds for itself."""
        found: set[int] = set()
        for scope in walk(self.method):
            match scope:
                case ast.FunctionDef() | ast.Lambda() if scope is not self.method:
                    names = {n.arg for n in walk(scope.args) if isinstance(n, ast.arg)}
                    names |= {n.id for n in walk(scope) if _is_store(n)}
                case ast.comprehension(target=target):
                    names = {n.id for n in walk(target) if _is_store(n)}
                case _:
                    continue
            inside = walk(self._around.get(scope, scope))
            found |= {id(n) for n in inside if _is_name(n) and n.id in names}
        return found

    @cached_property
    def _later(self) -> set[int]:
        """The nodes of inner functions, which read what a name holds when they are called."""
        inner = (
            n
            for n in walk(self.method)
            if isinstance(n, ast.FunctionDef | ast.Lambda) and n is not self.method
        )
        return {id(n) for function in inner for n in walk(function)}

    @cached_property
    def _around(self) -> dict[ast.AST, ast.AST]:
        """The comprehensions that loops stand in."""
        nodes = (n for n in walk(self.method) if isinstance(n, COMPREHENSIONS))
        return {g: n for n in nodes for g in n.generators}

    def _named(self, name: str, how: type[ast.expr_context]) -> list[ast.Name]:
        return [
            n
            for n in self._names
            if n.id == name and isinstance(n.ctx, how) and id(n) not in self._own
        ]

    def _bindings(self, name: str) -> Iterator[tuple[ast.stmt, Sequence[ast.stmt]]]:
        """The statements that bind a name, and those behind each in its block."""
        stores = {id(n) for n in self.stores(name)}
        for node in walk(self.method):
            for block in _blocks(node):
                for i, statement in enumerate(block):
                    if any(id(n) in stores for n in _outside_blocks(statement)):
                        yield statement, block[i + 1 :]


def _region(statement: ast.stmt, rest: Sequence[ast.stmt], name: str) -> list[ast.AST]:
    """Where a name holds what a statement gave it."""
    found: list[ast.AST] = []
    if isinstance(statement, ast.For):
        rest = statement.body
    elif not isinstance(statement, ast.Assign):
        found.append(statement)  # `(layer := ...)(x)`
    for part in rest:
        if not _stores([part], {name}):
            found.append(part)
            continue
        # Its value is read before it gives the name another one.
        if isinstance(part, ast.Assign):
            found.append(part.value)
        break
    return found


def _binds_first(block: Sequence[ast.stmt], name: str) -> bool:
    """Whether statements bind a name before they read it, whatever branch they take."""
    for i, statement in enumerate(block):
        if not _has(statement, name):
            continue
        match statement:
            case ast.Assign(value=value):
                return not _has(value, name)
            case ast.If(test=test, body=body, orelse=otherwise):
                both = all(_binds_first(b, name) for b in (body, otherwise))
                return both and not _has(test, name)
            case ast.For(iter=iterated, body=body, orelse=[]):
                # It may have no passes.
                alone = not any(_has(s, name) for s in (iterated, *block[i + 1 :]))
                return alone and _binds_first(body, name)
        break
    return False


def _has(node: ast.AST, name: str) -> bool:
    return any(_is_name(n) and n.id == name for n in walk(node))


def _stores(nodes: Iterable[ast.AST], names: Collection[str]) -> bool:
    return any(_is_store(n) and n.id in names for part in nodes for n in walk(part))


def _is_store(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    found = (getattr(node, name, None) for name in _BLOCKS)
    return [block for block in found if isinstance(block, list)]


def _outside_blocks(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement but those of the blocks in it."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt):
            yield from walk(child)
