"""Classes of PyTorch that are handed layers, `PreNorm(dim, Attention(dim))`, as a class for each of these.

The class makes the layer itself then, of what is known where it is made; `**kwargs` that it hands on to the
layer are the arguments that the layer takes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.forms.small_helpers import without_copies
from mlax_scaffold.conversion.handed.handed_classes import Renamed, Special
from mlax_scaffold.conversion.handed.handed_lists import (
    elements_of,
    listed_parameters,
    with_listed_layers,
)
from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import beside_self, method_of
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_NN = "torch.nn."
_LISTS = (f"{_NN}ModuleList", f"{_NN}ModuleDict")
_NEVER = (f"{_NN}Parameter", f"{_NN}functional", f"{_NN}init")


def without_handed_layers(origin: Origin, thing: str) -> dict[str, str]:
    """Write such classes in place; the one that is converted is handed what the first call hands it.

    Returns:
        What the original is handed, of the parameters that are left.
    """
    if not origin.uses("torch"):
        return {}
    with_listed_layers(origin)
    handed = {
        n: found for n, c in origin.classes.items() if (found := _taken(origin, c))
    }
    if not handed:
        return {}
    calls = _Handed(origin, handed, thing)
    calls.run()
    if calls.found or calls.main is not None:
        body = [calls.main if _is(s, thing) and calls.main else s for s in origin.tree.body]  # fmt: skip
        origin.tree.body = [*body, *calls.found.values()]
        origin.forget("imports", "classes", "functions", "copied", "assigned")
        without_copies(origin)
    located(origin.tree)
    return calls.given


def _is(node: ast.stmt, title: str) -> bool:
    return isinstance(node, ast.ClassDef) and node.name == title


def _taken(origin: Origin, node: ast.ClassDef) -> list[str]:
    """The parameters of a class that it may keep as layers."""
    start = method_of(node, "__init__")
    if start is None or start.args.vararg or start.args.posonlyargs:
        return []
    given = [a.arg for a in (*start.args.args[1:], *start.args.kwonlyargs)]
    stored = {t for s in start.body for p in walk(s) for t in _stores(p)}
    copied = {
        str(p.args[0].id)  # type: ignore[attr-defined]
        for p in walk(start)
        if isinstance(p, ast.Call)
        and ast.unparse(p.func).endswith("deepcopy")
        and len(p.args) == 1
        and isinstance(p.args[0], ast.Name)
    }
    listed = {*listed_parameters(origin, node)}
    return [g for g in given if g in stored | copied | listed]


def _stores(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Assign(targets=[target], value=ast.Name(id=local)):
            if self_attribute(target):
                yield local


class _Handed(NodeTransformer):
    """The calls of such classes."""

    def __init__(self, origin: Origin, handed: dict[str, list[str]], thing: str):
        self.origin, self.handed, self.thing = origin, handed, thing
        self.found: dict[str, ast.ClassDef] = {}
        self.texts: dict[str, str] = {}
        self.main: ast.ClassDef | None = None
        self.given: dict[str, str] = {}
        self.locals: dict[str, list[ast.expr]] = {}
        self.reads: dict[str, int] = {}
        self.defaults: dict[str, ast.expr] = {}

    def run(self) -> None:
        # What is converted is made by the lines outside of all classes, if at all.
        for node in self.origin.tree.body:
            for method in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(method, ast.FunctionDef):
                    self._scope(method, method.body)
        for node in self.origin.functions.values():
            self._scope(node, node.body)
        outside = [
            s
            for s in self.origin.tree.body
            if not isinstance(s, ast.ClassDef | ast.FunctionDef)
        ]
        self._scope(ast.Module(outside, []), outside)

    def _scope(self, owner: ast.AST, body: list[ast.stmt]) -> None:
        self.locals, self.reads = {}, {}
        for part in walk(owner):
            match part:
                case ast.Assign(targets=[ast.Name(id=local)], value=value):
                    self.locals.setdefault(local, []).append(value)
                case ast.Name(id=local, ctx=ast.Load()):
                    self.reads[local] = self.reads.get(local, 0) + 1
        gone: set[str] = set()
        self.gone = gone
        for node in body:
            self.visit(node)
        for place in gone:
            for part in walk(owner):
                for field in ("body", "orelse"):
                    inner = getattr(part, field, None)
                    if isinstance(inner, list):
                        inner[:] = [s for s in inner if not _binds(s, place)]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        title = getattr(node.func, "id", "")
        if title not in self.handed:
            return node
        owner = self.origin.classes[title]
        start = method_of(owner, "__init__")
        assert start is not None
        inputs = beside_self(start.args)
        try:
            bound = bind(inputs, node)
        except MisfitError:
            return node
        given = {p: v for p, v in bound.items() if isinstance(v, ast.expr)}
        layers = {
            p: made
            for p in self.handed[title]
            if p in given and (made := self._layer(given[p])) is not None
        }
        if not layers:
            return node
        special = Special(self.origin, owner, start, self._class_of)
        made = special.written(given, layers)
        if made is None:
            return node
        self.gone |= {v.id for p in layers if isinstance(v := given[p], ast.Name)}
        if title == self.thing:
            if self.main is None:
                self.main = made
                self.given = {p: ast.unparse(v) for p, v in special.layers.items()}
            return node
        inner = "".join(_title(self.origin, v) for v in layers.values())
        said = ast.unparse(made)
        name = self.texts.get(said) or self._free(f"{title}{inner}")
        self.texts[said] = name
        if name not in self.found:
            made.name = name
            Renamed(title, name).visit(made)
            self.found[name] = made
        keywords = [ast.keyword(p, v) for p, v in special.arguments.items()]
        call = ast.Call(ast.Name(name, ast.Load()), [], keywords)
        return located(ast.copy_location(call, node))

    def _class_of(self, title: str) -> ast.ClassDef | None:
        return self.found.get(title) or self.origin.classes.get(title)

    def _free(self, wanted: str) -> str:
        made, number = wanted, 1
        while made in self.found or made in self.origin.classes:
            number += 1
            made = f"{wanted}{number}"
        return made

    def _layer(self, node: ast.expr) -> ast.expr | None:
        """The call that makes a layer, or a list of them, which a local alone may name."""
        elements = elements_of(node)
        if elements:
            made = [e if isinstance(e, ast.Call) else None for e in elements]
            whole = all(e is not None and self._layer(e) is e for e in made)
            return node if whole else None
        if isinstance(node, ast.Name):
            made = self.locals.get(node.id, [])
            if len(made) == 1 and self.reads.get(node.id) == 1:
                value = made[0]
                if isinstance(value, ast.Call | ast.List | ast.ListComp):
                    return self._layer(self.visit(cloned(value)))
            return None
        if not isinstance(node, ast.Call):
            return None
        full = self.origin.qualified(node.func)
        title = getattr(node.func, "id", "")
        other = self._class_of(title)
        if other is not None:
            return node if is_layer_class(self.origin, other) or title in self.found else None  # fmt: skip
        if full.startswith(_NN) and not full.startswith((*_NEVER, *_LISTS)):
            return node
        return None


def _binds(node: ast.stmt, local: str) -> bool:
    return isinstance(node, ast.Assign) and is_name(node.targets[0], local)


def _title(origin: Origin, call: ast.expr) -> str:
    """What the class is called that a layer is of, or the first of a list."""
    for first in elements_of(call)[:1]:
        several = "" if isinstance(call, ast.IfExp) else "s"
        return f"{_title(origin, first)}{several}"
    assert isinstance(call, ast.Call)
    return ast.unparse(call.func).rpartition(".")[2]
