"""Loops over containers, whose variables stand for places of them."""

from __future__ import annotations

import ast
from typing import Any

from mlax_scaffold.model.places import DICT, LIST, Step, container_of
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.containers.entries import Entering, Layers
from mlax_scaffold.reader.containers.place import Place, key_of
from mlax_scaffold.reader.evaluation import COMPREHENSIONS


class Iterating(Entering, ast.NodeVisitor):
    """The part of a walk over a method that reads them, with what its variables stand for."""

    def __init__(self, layers: Layers, method: ast.FunctionDef) -> None:
        super().__init__(layers)
        self.method = method
        self.variables: dict[str, Place] = {}
        names = {n.id for n in walk(method) if isinstance(n, ast.Name)}
        loops = (n for n in walk(method) if isinstance(n, ast.For | ast.comprehension))
        self.passing = {
            n.id for g in loops for n in walk(g.target) if isinstance(n, ast.Name)
        }
        """The variables of loops."""
        self.taken = names | {a.arg for a in walk(method) if isinstance(a, ast.arg)}

    def fresh(self, name: str) -> str:
        candidate, number = name, 2
        while candidate in self.taken:
            candidate, number = f"{name}_{number}", number + 1
        self.taken.add(candidate)
        return candidate

    def iterated(
        self, node: ast.expr, loop: Any = None, target: ast.expr | None = None
    ) -> tuple[Any, bool]:
        """What the items of an iterable stand for: a tree of functions of a variable's name; and change it.

        The second is whether there is any such item.
        """
        place = self.place(node)
        if place is not None:
            inside = self.members(place)
            match container_of(inside):
                case "list":
                    self.change(node, f"range(len({place.text}))")
                    return (lambda v: place.item(Step(LIST), v)), True
                case "dict":
                    self.change(node, place.text)
            return None, False
        match node:
            case ast.Call(
                func=ast.Attribute(value=owner, attr="items" | "values" as how), args=[]
            ) if (place := self.place(owner)) and container_of(
                self.members(place)
            ) == DICT:
                item = lambda v: place.item(Step(DICT), v)  # noqa: E731
                if how == "values":
                    self.change(node, place.text)
                    return item, True
                if target is not None and (key := key_of(target, loop, self.method)):
                    self.change(node, place.text)
                    self.change(target, key)
                    return (None, lambda _: item(key)), True
                self.change(node, f"zip({place.text}, {place.text})")
                return (None, item), True
            case ast.Call(func=ast.Name(id="enumerate"), args=[first, *rest]):
                item, any_ = self.iterated(first)
                for other in (*rest, *(k.value for k in node.keywords)):
                    self.visit(other)
                return (None, item), any_
            case ast.Call(func=ast.Name(id="zip"), args=args):
                parts = [self.iterated(arg) for arg in args]
                return tuple(p for p, _ in parts), any(found for _, found in parts)
            case ast.List(elts=[ast.Starred(value=inner)]):
                return self.iterated(inner)
            case ast.Call(
                func=ast.Name(id="reversed" | "list" | "tuple" | "iter"), args=[inner]
            ):
                return self.iterated(inner)
            case ast.Subscript(value=owner, slice=ast.Slice() as index):
                item, found = self.iterated(owner)
                if found:
                    self.visit(index)
                    return item, True
                self.visit(node)
                return None, False
        if (items := self._listed(node)) is not None:
            return items, True
        self._values(node)
        return None, False

    def _values(self, node: ast.expr) -> None:
        """Visit what is gone over: layers in it are functions, where no loop reads anything else."""
        several = isinstance(node, ast.Tuple | ast.List)
        read = {n.value for n in walk(self.method) if isinstance(n, ast.Attribute)}
        named = {n.id for n in read if isinstance(n, ast.Name)} & self.passing
        if not several or named:
            self.visit(node)
            return
        for item in node.elts:
            if isinstance(item, ast.Tuple | ast.List):
                self._values(item)
            elif not self.is_handed_on(item):
                self.visit(item)

    def _listed(self, node: ast.expr) -> Any:
        """What `(self.parts["a"], self.parts["b"])` stands for, which runs over the keys then."""
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items) if items:
                pass
            case _:
                return None
        keys, owners = [], {}
        for item in items:
            match item:
                case ast.Subscript(value=owner, slice=ast.Constant() as key):
                    keys.append(key)
                    owners[ast.unparse(owner)] = owner
                case _:
                    return None
        if len(owners) > 1 or (place := self.place(*owners.values())) is None:
            return None
        kind = container_of(self.members(place))
        if kind not in (LIST, DICT) or any(
            (type(k.value) is int) != (kind == LIST) for k in keys
        ):
            return None
        written = ", ".join(repr(k.value) for k in keys)
        self.change(node, f"({written},)")
        step = Step(LIST) if kind == LIST else Step(DICT)
        return lambda v: place.item(step, v)

    def bind(self, target: ast.expr, item: Any) -> None:
        """What the variables of a loop stand for."""
        place: Any = item
        made: Any = item if callable(item) else None
        match target, item:
            case ast.Name(id=name), None:
                self.variables.pop(name, None)
            case ast.Name(id=name), _ if made is not None:
                self.variables[name] = made(name)
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), tuple()):
                for part, inner in zip(targets, item, strict=False):
                    self.bind(part, inner)
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), _) if callable(
                item
            ):
                variable = self.fresh("place")
                parts = self.taken_apart(target, place(variable))
                if parts:
                    self.change(target, variable)
                    self.variables |= parts
                else:
                    self.bind(target, None)
            case _:
                for part in walk(target):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        self.variables.pop(part.id, None)

    def taken_apart(self, target: ast.expr, place: Place) -> dict[str, Place]:
        """What the names of `a, (b, c)` stand for, which is given a list; nothing of anything else."""
        if not isinstance(target, ast.Tuple | ast.List):
            return {}
        if container_of(self.members(place)) != LIST:
            return {}
        found: dict[str, Place] = {}
        for number, part in enumerate(target.elts):
            inner = place.item(Step(LIST, number), str(number))
            parts = {part.id: inner} if isinstance(part, ast.Name) else {}
            parts = parts or self.taken_apart(part, inner)
            if not parts:
                return {}
            found |= parts
        return found

    def visit_For(self, node: ast.For) -> None:
        item, _ = self.iterated(node.iter, node, node.target)
        self.bind(node.target, item)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def _comprehension(self, node: Any) -> None:
        outer = dict(self.variables)
        for generator in node.generators:
            item, _ = self.iterated(generator.iter, node, generator.target)
            self.bind(generator.target, item)
            for test in generator.ifs:
                self.visit(test)
        for name in ("key", "elt", "value"):
            if hasattr(node, name):
                self.visit(getattr(node, name))
        self.variables = outer

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, COMPREHENSIONS):
            return self._comprehension(node)
        return super().visit(node)
