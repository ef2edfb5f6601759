"""Methods that make a sequence of layers and change what the next one begins with: `self._make_layer(64, 2)`.

Each becomes a class, which is given what the method reads of the object.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import beside_self, stored_names
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    names,
    replaced,
    self_attribute,
    targets,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_SEQUENCES = {"torch.nn.Sequential": "forward", "flax.nnx.Sequential": "__call__"}
"""Sequences of layers, and what is called of a class of their library."""


def with_layer_methods(
    origin: Origin, node: ast.ClassDef
) -> tuple[ast.ClassDef, Mapping[str, ast.ClassDef]]:
    """The class, in which such methods are classes of their own, and those classes."""
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    start = methods.get("__init__")
    if start is None:
        return node, {}
    builders = {
        m.name: made
        for m in methods.values()
        if m is not start and (made := _builder(origin, node, m)) is not None
    }
    changed = {a for b in builders.values() for a in b.changes}
    outside = {
        a
        for m in methods.values()
        if m is not start and m.name not in builders
        for part in walk(m)
        if (a := self_attribute(part))
    }
    if not builders or changed & outside or outside & set(builders):
        return node, {}
    made = cloned(node)
    calls = _Calls(builders, changed)
    for method in made.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            calls.visit(method)
    if calls.failed:
        return node, {}
    made.body = [s for s in made.body if getattr(s, "name", "") not in builders]
    classes = {b.title: b.written(node) for b in builders.values()}
    return located(made), classes


@dataclass
class _Builder:
    """A method that makes a sequence."""

    method: ast.FunctionDef
    title: str
    reads: list[str]
    """Attributes of the object that it reads."""
    changes: dict[str, ast.expr]
    """What it sets attributes to, by its parameters."""
    base: ast.expr
    called: str
    """The method that runs the layers."""

    def written(self, owner: ast.ClassDef) -> ast.ClassDef:
        """The class of these layers."""
        given = self.method.args
        made = _Locals(self.reads).visit(cloned(self.method))
        assert isinstance(made, ast.FunctionDef)
        body = without_docstring(made.body)
        last = body[-1]
        assert isinstance(last, ast.Return)
        layers = ast.Attribute(ast.Name("self", ast.Load()), "layers", ast.Store())
        assert last.value is not None
        body[-1] = ast.copy_location(ast.Assign([layers], last.value), last)
        lines = [
            f"class {self.title}:",
            f'    """Layers of {owner.name}."""',
            "    def __init__(self): ...",
            f"    def {self.called}(self, x):",
            "        return self.layers(x)",
        ]
        [node] = ast.parse("\n".join(lines)).body
        assert isinstance(node, ast.ClassDef)
        node.bases = [cloned(self.base)]
        start = node.body[1]
        assert isinstance(start, ast.FunctionDef)
        start.args = cloned(given)
        start.args.args[1:1] = [ast.arg(a) for a in self.reads]
        start.body = body
        for part in walk(node):
            if getattr(part, "lineno", self.method.lineno) < self.method.lineno:
                ast.copy_location(part, self.method)
        return located(ast.copy_location(node, self.method))


def _builder(
    origin: Origin, owner: ast.ClassDef, method: ast.FunctionDef
) -> _Builder | None:
    body = without_docstring(method.body)
    last = body[-1] if body else None
    value = last.value if isinstance(last, ast.Return) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    called = _SEQUENCES.get(origin.qualified(value.func))
    if called is None or method.decorator_list:
        return None
    if method.args.vararg or method.args.kwarg:
        return None
    stored: set[str] = set()
    reads: dict[str, None] = {}
    for part in walk(method):
        attribute = self_attribute(part)
        if attribute is None or not isinstance(part, ast.Attribute):
            continue
        if isinstance(part.ctx, ast.Load):
            reads[attribute] = None
        else:
            stored.add(attribute)
    methods = {m.name for m in owner.body if isinstance(m, ast.FunctionDef)}
    if not stored or methods & set(reads):
        return None
    changes = _changes(body)
    if set(changes) != stored:
        return None
    base = ast.Attribute(cloned(value.func.value), "Module", ast.Load())
    words = method.name.strip("_").split("_")
    title = owner.name + "".join(w[:1].upper() + w[1:] for w in words if w != "make")
    return _Builder(method, title, sorted({**reads}), changes, base, called)


def _changes(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """What attributes are when the statements are run, as far as no condition and no loop sets them."""
    found: dict[str, ast.expr] = {}
    known: dict[str, ast.expr] = {}
    for part in body:
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                known[local] = replaced(value, known)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                place = self_attribute(target)
                if place is not None:
                    found[place] = replaced(value, known)
            case ast.For() | ast.If() | ast.With() | ast.While():
                for inner in walk(part):
                    if isinstance(inner, ast.Attribute) and not isinstance(
                        inner.ctx, ast.Load
                    ):
                        found.pop(self_attribute(inner) or "", None)
                if isinstance(part, ast.For):
                    found |= _of_passes(part, known)
    return found


def _of_passes(loop: ast.For, known: Mapping[str, ast.expr]) -> dict[str, ast.expr]:
    """What every pass of a loop sets attributes to, where it is the same in each."""
    bound = {*targets(loop), *(n for s in loop.body for n in stored_names(s))}
    return {
        place: replaced(part.value, known)
        for part in loop.body
        if isinstance(part, ast.Assign)
        if (place := self_attribute(part.targets[0]))
        and not names(part.value) & {*bound, "self"}
    }


class _Locals(NodeTransformer):
    """Attributes of the object as locals."""

    def __init__(self, attributes: list[str] | set[str]):
        self.attributes = attributes

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        attribute = self_attribute(node)
        if attribute is not None and attribute in self.attributes:
            return ast.copy_location(ast.Name(attribute, node.ctx), node)
        self.generic_visit(node)
        return node


class _Calls(NodeTransformer):
    """The calls of such methods in the constructor, as those of the classes."""

    def __init__(self, builders: dict[str, _Builder], changed: set[str]):
        self.builders, self.changed = builders, changed
        self.failed = False

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        attribute = self_attribute(node)
        if attribute in self.builders:
            self.failed = True
        if attribute is not None and attribute in self.changed:
            return ast.copy_location(ast.Name(attribute, node.ctx), node)
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        call = node.value
        title = self_attribute(call.func) if isinstance(call, ast.Call) else None
        builder = self.builders.get(title or "")
        if builder is None or not isinstance(call, ast.Call):
            self.generic_visit(node)
            return node
        given = builder.method.args
        inputs = beside_self(given)
        try:
            bound = bind(inputs, call)
        except MisfitError:
            self.failed = True
            return node
        call.args = [self.visit(a) for a in call.args]
        call.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in call.keywords]
        state: list[ast.expr] = [
            _Locals(self.changed).visit(
                ast.Attribute(ast.Name("self", ast.Load()), a, ast.Load())
            )
            for a in builder.reads
        ]
        call.func = ast.Name(builder.title, ast.Load())
        call.args = [*state, *call.args]
        node.targets = [self.visit(t) for t in node.targets]
        made: list[ast.stmt] = [node]
        parts = {k: v for k, v in bound.items() if isinstance(v, ast.expr)}
        for attribute, value in builder.changes.items():
            new = _Locals(self.changed).visit(replaced(value, parts))
            target = ast.Name(attribute, ast.Store())
            made.append(ast.copy_location(ast.Assign([target], new), node))
        return made
