"""Gradients that `prepare` returns, as functions of optax do: `update` computes them of its own."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from mlax_scaffold.errors import Edit, Fix
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.remedies.bindings import Substituted
from mlax_scaffold.reader.remedies.bodies import removed
from mlax_scaffold.reader.source import Source, class_of, dotted, self_attribute


def of_each_gradient(
    source: Source, prepare: ast.FunctionDef, found: ast.Return
) -> Fix | None:
    """`return jax.tree.map(lambda g: g * scale, grads)` as the beginning of `update`.

    There it is `grad = grad * self.scale`, where `prepare` sets `self.scale`. None where anything but
    the whole tree is returned, or each gradient follows from what the other leaves of it are.
    """
    owner = class_of(source.tree, prepare)
    methods = {
        m.name: m
        for m in (owner.body if owner else ())
        if isinstance(m, ast.FunctionDef)
    }
    update = methods.get("update")
    if update is None or prepare.body[-1:] != [found] or found.value is None:
        return None
    trees = [a.arg for a in prepare.args.args[1:]]
    leaves = [a.arg for a in update.args.args[1:]]
    if len(trees) != 2 or len(leaves) != 2:
        return None
    returned, gone = found.value, [found]
    match returned, prepare.body[-2:]:
        case (
            ast.Name(id=name),
            [ast.Assign(targets=[ast.Name(id=bound)], value=value) as before, _],
        ) if name == bound:
            returned, gone = value, [before, found]
    match returned:
        case ast.Call(func=called, args=[function, *given], keywords=[]) if (
            dotted(called) or ""
        ).endswith(("tree.map", "tree_map")):
            pass
        case _:
            return None
    names = [n.id for n in given if isinstance(n, ast.Name)]
    if names[:1] != trees[:1] or len(names) != len(given) or not {*names} <= {*trees}:
        return None
    arguments = [leaves[trees.index(n)] for n in names]
    return _Moving(source, prepare, update, gone, leaves[0]).fix(function, arguments)


class _Moving:
    def __init__(
        self,
        source: Source,
        prepare: ast.FunctionDef,
        update: ast.FunctionDef,
        gone: Sequence[ast.stmt],
        leaf: str,
    ):
        self.source, self.prepare, self.update = source, prepare, update
        self.gone, self.leaf = [*gone], leaf
        kept = [n for s in prepare.body if s not in gone for n in walk(s)]
        names = [n for n in kept if isinstance(n, ast.Name)]
        self.locals = {n.id for n in names if isinstance(n.ctx, ast.Store)}
        self.locals |= {a.arg for a in prepare.args.args[1:]}
        self.functions = {
            s.name: s for s in prepare.body if isinstance(s, ast.FunctionDef)
        }
        self.names = names

    def fix(self, function: ast.expr, arguments: Sequence[str]) -> Fix | None:
        """The edits that compute each gradient at the beginning of `update`; None where that says else."""
        lines: list[str] = []
        match function:
            case ast.Lambda(args=taken, body=body) if len(taken.args) == len(arguments):
                values = dict(zip((a.arg for a in taken.args), arguments, strict=True))
                read = {n.id for n in walk(body) if isinstance(n, ast.Name)}
                numbers = read & self.locals - {*values}
                kept = {n: f"self.{n}" for n in numbers}
                text = _substituted(body, values | kept)
            case ast.Name(id=name) if name in self.functions:
                inner = self.functions[name]
                own = {a.arg for a in walk(inner) if isinstance(a, ast.arg)}
                read = {n.id for n in walk(inner) if isinstance(n, ast.Name)}
                again = [n for n in self.names if n.id == name]
                if (read & self.locals) - own or again:
                    return None
                self.gone.append(inner)
                lines = [*self.source.text_of(inner).splitlines(), ""]
                numbers, text = set(), f"{name}({', '.join(arguments)})"
            case ast.Name() | ast.Attribute():
                numbers = set()
                text = f"{self.source.text_of(function)}({', '.join(arguments)})"
            case _:
                return None
        edits = self._kept(numbers)
        if edits is None:
            return None
        indent = " " * self.update.body[0].col_offset
        lines = [line.removeprefix(indent) for line in lines]
        lines.append(f"{self.leaf} = {text}")
        begin = "".join(f"{line}\n{indent}" for line in lines)
        begin = begin.replace(f"\n{indent}\n", "\n\n")
        return Fix((*edits, *self._removed(), self.source.insert(self._first(), begin)))

    def _kept(self, numbers: set[str]) -> list[Edit] | None:
        """The locals of `prepare` that `update` reads, as what it sets."""
        edits: list[Edit] = []
        taken = {self_attribute(n) for n in walk(self.source.tree)}
        for name in numbers:
            bound = [
                s
                for s in self.prepare.body
                if isinstance(s, ast.Assign)
                and isinstance(s.targets[0], ast.Name)
                and s.targets[0].id == name
            ]
            stores = [
                n for n in self.names if n.id == name and isinstance(n.ctx, ast.Store)
            ]
            if len(bound) != 1 or len(stores) != 1 or name in taken:
                return None
            edits += [
                self.source.edit(n, f"self.{name}") for n in self.names if n.id == name
            ]
        return edits

    def _removed(self) -> list[Edit]:
        """`prepare` without what is gone, and without itself where nothing is left."""
        left = [s for s in self.prepare.body if s not in self.gone]
        if all(isinstance(s, ast.Expr) for s in left):
            start = self.source.start(self.prepare)
            end = (self.prepare.end_lineno or 0) + 1
            while (
                end <= len(self.source.lines) and not self.source.lines[end - 1].strip()
            ):
                end += 1
            return [self.source.replace((start[0], 1), (end, 1), "")]
        return [removed(self.source, s) for s in self.gone]

    def _first(self) -> ast.stmt:
        """What `update` begins with, behind its docstring."""
        body = self.update.body
        first = body[0]
        documented = isinstance(first, ast.Expr) and isinstance(
            first.value, ast.Constant
        )
        return body[1] if documented and body[1:] else first


def _substituted(node: ast.expr, values: dict[str, str]) -> str:
    """The text of an expression with other names."""
    named = {n: ast.parse(v, mode="eval").body for n, v in values.items()}
    return unparsed(Substituted(named).visit(copy.deepcopy(node)))
