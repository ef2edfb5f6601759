"""What the statements of a branch set, in terms of what stood before it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.axes.sizes import Scope
from mlax_scaffold.reader.remedies.bindings import Substituted, draws, target_name
from mlax_scaffold.reader.remedies.changed_states import changes_states
from mlax_scaffold.reader.remedies.truths import text_on_a_line
from mlax_scaffold.reader.source import Source, class_of

Values = dict[str, ast.expr]
"""What names hold that a branch sets, in terms of what they held before it."""
_MANY = ast.Tuple | ast.Lambda | ast.Dict | ast.Starred
"""What is no value that can be chosen."""


class NoChoice(Exception):
    """A branch does more than to make values."""


@dataclass(kw_only=True)
class Branches:
    """Reads the branches of one function."""

    source: Source
    function: ast.FunctionDef
    lines: list[str] = field(default_factory=list)
    """What branches compute on the way, which nothing else calls so."""
    given: list[str] = field(default_factory=list)
    """Names of what branches make, which stand beside the old ones."""
    changing: set[str] = field(default_factory=set)
    """Texts of what changes states."""

    @cached_property
    def scope(self) -> Scope:
        """The class of the function."""
        tree = self.source.tree
        return Scope(tree, class_of(tree, self.function))

    def line(self, targets: str, value: ast.expr) -> None:
        """Computes something on the way, whichever branch is chosen: what changes no states."""
        text = self.text(value)
        if text in self.changing:
            raise NoChoice
        self.lines.append(f"{targets} = {text}")

    def run(
        self, statements: Iterable[ast.stmt], body: Sequence[ast.stmt], values: Values
    ) -> None:
        """Collects what the statements of a branch set.

        Where something else has the name, or reads it, it is held in `values`, else it is a line of its own.
        """
        outside = self._outside(body)
        for statement in statements:
            match statement:
                case ast.Pass() | ast.Expr(value=ast.Constant()):
                    continue
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                    names = [target_name(t) for t in targets]
                    self._unpack(names, self.read(value, values), values, outside)
                    continue
                case ast.Assign(targets=[target], value=value):
                    new = self.read(value, values)
                case ast.AugAssign(target=target, op=op, value=value):
                    old = copy.copy(target)
                    old.ctx = ast.Load()
                    new = self.read(ast.BinOp(old, op, value), values)
                case _:
                    raise NoChoice
            name = target_name(target)
            if name is None or isinstance(new, _MANY):
                raise NoChoice
            if name in outside or "." in name:
                values[name] = new
            else:
                self.line(name, new)

    def _unpack(
        self,
        names: Sequence[str | None],
        new: ast.expr,
        values: Values,
        outside: Collection[str],
    ) -> None:
        """`a, b = f(x)`, and `a, b = b, a`, of which each has what all were before."""
        bound = [n for n in names if n]
        if len({*bound}) < len(names):
            raise NoChoice
        outer = [n for n in bound if n in outside or "." in n]
        parts = new.elts if isinstance(new, ast.Tuple) else []
        unfit = isinstance(new, ast.Tuple) and len(parts) != len(bound)
        if unfit or any(isinstance(p, _MANY) for p in parts):
            raise NoChoice
        if outer == bound and len(parts) == len(bound):
            values |= zip(bound, parts, strict=True)
            return
        fresh = {n: self.free(n) for n in outer}
        targets = ", ".join(fresh.get(n, n) for n in bound)
        self.line(targets, new)
        values |= {n: ast.Name(f, ast.Load(), lineno=0) for n, f in fresh.items()}

    def read(self, node: ast.expr, values: Values) -> ast.expr:
        """An expression in terms of what names held before the branch.

        What a method or a layer makes has a line of its own, for it is called once.
        """
        read = {n for n in map(target_name, walk(node)) if n in values}
        if not read:
            return node
        self.settle(read, values)
        found = Substituted(values).visit(copy.deepcopy(node))
        found.lineno = 0  # it stands nowhere
        return found

    def settle(self, names: Collection[str], values: Values) -> None:
        """Gives a line to each of these that a method or a layer makes."""
        for name in values:
            if name in names and draws(values[name]):
                free = self.free(name)
                self.line(free, values[name])
                values[name] = ast.Name(free, ast.Load(), lineno=0)

    def free(self, name: str) -> str:
        """A name for what something holds after a branch, which stands beside what it held before."""
        taken = {n.id for n in walk(self.source.tree) if isinstance(n, ast.Name)}
        plain = f"new_{name.removeprefix('self.')}"
        numbered = (f"{plain}{n}" for n in ("", *range(2, 99)))
        found = next(n for n in numbered if n not in {*taken, *self.given})
        self.given.append(found)
        return found

    def text(self, node: ast.expr) -> str:
        text = text_on_a_line(self.source, node)
        if changes_states(self.scope, [node]):
            self.changing.add(text)
        return text

    def _outside(self, body: Sequence[ast.stmt]) -> set[str]:
        """The names that stand outside of a branch."""
        inside = {id(n) for s in body for n in walk(s)}
        nodes = (n for n in walk(self.function) if id(n) not in inside)
        return {
            n.id if isinstance(n, ast.Name) else n.arg
            for n in nodes
            if isinstance(n, ast.Name | ast.arg)
        }
