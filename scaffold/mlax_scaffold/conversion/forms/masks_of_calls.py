"""Objects that a call makes of a plain class of the file, and that hold one array: functions that return it.

class CausalMask:                                   def causal_mask(length):
    def __init__(self, length):                         return torch.ones(length, length).triu(1) > 0
        self._mask = torch.ones(length, length).triu(1) > 0

    @property
    def mask(self):
        return self._mask

mask = CausalMask(x.shape[1])                       mask = causal_mask(x.shape[1])
scores = scores.masked_fill(mask.mask, -inf)        scores = scores.masked_fill(mask, -inf)
"""

from __future__ import annotations

import ast
import re

from mlax_scaffold.conversion.source.arguments_of import beside_self, method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    names,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_masks_of_calls(origin: Origin) -> None:
    """Write such classes, and what makes and reads their objects, in place."""
    if not origin.uses("torch"):
        return
    functions = [n for n in walk(origin.tree) if isinstance(n, ast.FunctionDef)]
    for node in [*origin.classes.values()]:
        titles = _titles(node)
        if not titles:
            continue
        making = [f for f in functions if node.name in names(f)]
        locals_ = {id(f): _held(f, node.name) for f in making}
        if not making or any(local is None for local in locals_.values()):
            continue
        function = _function(origin, node)
        for method in making:
            held = locals_[id(method)] or set()
            _Written(node.name, function.name, titles, held).visit(method)
        at = origin.tree.body.index(node)
        origin.tree.body[at] = function
        origin.forget("classes", "functions", "assigned")
    located(origin.tree)


def _titles(node: ast.ClassDef) -> set[str]:
    """What the one array that an object holds is read by; nothing where it holds more, or does anything."""
    start = method_of(node, "__init__")
    if start is None or any(not is_name(b, "object") for b in node.bases):
        return set()
    stored = _stored(start)
    read = [p for p in walk(start) if self_attribute(p)]
    last = start.body[-1]
    while isinstance(last, ast.With):
        last = last.body[-1]
    ends = isinstance(last, ast.Assign) and self_attribute(last.targets[0])
    if len(stored) != 1 or stored[0] is None or len(read) != 1 or not ends:
        return set()
    found = {stored[0]}
    for part in without_docstring(node.body):
        match part:
            case ast.FunctionDef(name="__init__"):
                continue
            case ast.FunctionDef(name=title, body=[ast.Return(value=value)]) if (
                value is not None and self_attribute(value) == stored[0]
            ):
                if [*map(ast.unparse, part.decorator_list)] != ["property"]:
                    return set()
                found.add(title)
            case _:
                return set()
    return found


def _stored(start: ast.FunctionDef) -> list[str | None]:
    return [
        self_attribute(p)
        for p in walk(start)
        if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store)
    ]


def _held(function: ast.FunctionDef, title: str) -> set[str] | None:
    """The locals that are objects of a class; None where one is made for anything else."""
    calls = {
        id(p.func)
        for p in walk(function)
        if isinstance(p, ast.Call) and is_name(p.func, title)
    }
    found: set[str] = set()
    bound: set[int] = set()
    for part in walk(function):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Call(func=func)):
                if id(func) in calls:
                    found.add(local)
                    bound.add(id(func))
            case ast.Attribute(value=ast.Call(func=func)):
                bound |= {id(func)} & calls
    read = sum(is_name(p, title) for p in walk(function))
    return found if len(bound) == len(calls) == read else None


def _function(origin: Origin, node: ast.ClassDef) -> ast.FunctionDef:
    start = method_of(node, "__init__")
    assert start is not None
    title = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.name).lower()
    while title in {*origin.functions, *origin.imports, *origin.assigned}:
        title += "_"
    local = str(_stored(start)[0]).lstrip("_")
    while local in names(start) or local in (a.arg for a in start.args.args):
        local += "_"
    body = [_Local(local).visit(cloned(s)) for s in start.body]
    body.append(ast.Return(ast.Name(local, ast.Load())))
    made = ast.FunctionDef(title, beside_self(start.args), body, [], None)
    return ast.copy_location(made, node)


class _Local(NodeTransformer):
    """What an object holds as a local."""

    def __init__(self, local: str):
        self.local = local

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if self_attribute(node) is None:
            return node
        return ast.copy_location(ast.Name(self.local, node.ctx), node)


class _Written(NodeTransformer):
    def __init__(self, title: str, function: str, titles: set[str], held: set[str]):
        self.title, self.function = title, function
        self.titles, self.held = titles, held

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == self.title:
            node.id = self.function
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        made = node.value
        of_call = isinstance(made, ast.Call) and is_name(made.func, self.title)
        self.generic_visit(node)
        held = isinstance(made, ast.Name) and made.id in self.held
        return made if (held or of_call) and node.attr in self.titles else node
