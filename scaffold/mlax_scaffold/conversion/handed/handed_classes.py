"""A class of PyTorch that is handed layers, as the class that makes them itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.handed.handed_keywords import HandedOn, Unset
from mlax_scaffold.conversion.handed.handed_lists import elements_of
from mlax_scaffold.conversion.lists.stages import Parameters
from mlax_scaffold.conversion.rows.rows import MisfitError, bind
from mlax_scaffold.conversion.source.arguments_of import (
    beside_self,
    defaults_of,
    method_of,
    stored_names,
    with_values,
    without_arguments,
)
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    names,
    replaced,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


class Special:
    """One class, handed some layers."""

    def __init__(self, origin: Origin, owner: ast.ClassDef, start, class_of):
        self.origin, self.owner, self.start = origin, owner, start
        self.class_of = class_of
        self.arguments: dict[str, ast.expr] = {}
        """What the call gives the class that is written."""
        self.layers: dict[str, ast.expr] = {}
        """What makes each layer, of the parameters of the class."""

    def written(
        self, given: dict[str, ast.expr], layers: dict[str, ast.expr]
    ) -> ast.ClassDef | None:
        """The class; None where it does more with the layers than to call them."""
        made = cloned(self.owner)
        start = method_of(made, "__init__")
        assert start is not None
        self.arguments = {p: v for p, v in given.items() if p not in layers}
        defaults = defaults_of(start.args)
        never = {
            p
            for p, v in self.arguments.items()
            if p in defaults and ast.unparse(defaults[p]) == ast.unparse(v)
        }
        values: dict[str, ast.expr] = {}
        for parameter, call in layers.items():
            values[parameter] = self._inner(call, parameter, start)
        self.layers = {parameter: cloned(value) for parameter, value in values.items()}
        reads = _Reads(self.origin, self.class_of, layers, values)
        reads.visit(start)
        for parameter in layers:
            uses = [p for p in walk(start) if is_name(p, parameter)]
            if len(uses) != 1:
                return None
        start.body = [with_values(s, values) for s in start.body]
        without_arguments(start.args, layers)
        added = [p for p in self.arguments if p not in given]
        for parameter in added:
            start.args.kwonlyargs.append(ast.arg(parameter))
            start.args.kw_defaults.append(None)
        self.arguments = {p: v for p, v in self.arguments.items() if p not in never}
        unset = {p: defaults[p] for p in never if is_none(defaults[p])}
        Unset(made, unset).run()
        if any(elements_of(v) for v in values.values()) and _is_open(made):
            return None
        for attribute, call in _kept(start, values):
            if not self._handed_on(made, attribute, call):
                return None
        return located(made)

    def _inner(
        self, call: ast.expr, parameter: str, start: ast.FunctionDef
    ) -> ast.expr:
        """What makes the layer, or the list of layers, of parameters of the class."""
        bound = {n for s in start.body for n in stored_names(s)}
        known = {
            ast.unparse(v): ast.Name(p, ast.Load())
            for p, v in self.arguments.items()
            if not isinstance(v, ast.Constant) and p not in bound
        }
        self.bound = bound
        call = cloned(call)
        calls = [c for c in elements_of(call) or [call] if isinstance(c, ast.Call)]
        for one in calls:
            self._alike(one)
        made = _Known(known).visit(call)
        names_of = {n.id for n in known.values()}
        new: dict[str, ast.expr] = {}
        parameters = Parameters(self.origin, new)
        parameters.known |= {*names_of, *(getattr(c.func, "id", "") for c in calls)}
        parameters.known |= {p for p in self.arguments if p not in bound} - {
            n for v in self.arguments.values() for n in names(v)
        }
        made = parameters.visit(made)
        rename: dict[str, ast.expr] = {}
        for title, value in new.items():
            wanted = title
            if wanted in self.arguments or wanted in bound or wanted == parameter:
                wanted = f"{parameter}_{title}"
            rename[title] = ast.Name(wanted, ast.Load())
            self.arguments[wanted] = value
        return replaced(made, rename)

    def _alike(self, call: ast.Call) -> None:
        """The layer with numbers of its own that the class has under the same names: they are its."""
        other = self.class_of(getattr(call.func, "id", ""))
        inner = method_of(other, "__init__") if other is not None else None
        if inner is None:
            return
        places = [a.arg for a in inner.args.args[1:]]
        for at, value in enumerate(call.args):
            title = places[at] if at < len(places) else ""
            if title and self._same(title, value):
                call.args[at] = ast.Name(title, ast.Load())
        for keyword in call.keywords:
            if self._same(str(keyword.arg), keyword.value):
                keyword.value = ast.Name(str(keyword.arg), ast.Load())

    def _same(self, title: str, value: ast.expr) -> bool:
        own = self.arguments.get(title) if title not in self.bound else None
        number = isinstance(value, ast.Constant) and isinstance(own, ast.Constant)
        return number and own is not None and ast.unparse(value) == ast.unparse(own)

    def _handed_on(self, made: ast.ClassDef, attribute: str, call: ast.Call) -> bool:
        """Whether `*args` and `**kwargs` of a method, if any, are what the layer takes."""
        for method in made.body:
            if not isinstance(method, ast.FunctionDef) or method.name == "__init__":
                continue
            given = method.args
            if given.kwarg is None and given.vararg is None:
                continue
            title = getattr(call.func, "id", "")
            other = self.class_of(title)
            taken = method_of(other, "forward") if other is not None else None
            if other is not None and taken is None:
                return False
            if taken is not None and (taken.args.kwarg or taken.args.vararg):
                return False
            HandedOn(method, attribute, taken).run()
        return True


def _is_open(node: ast.ClassDef) -> bool:
    """Whether a method takes any arguments, to hand them on."""
    return any(
        isinstance(m, ast.FunctionDef) and (m.args.vararg or m.args.kwarg)
        for m in node.body
    )


def _kept(
    start: ast.FunctionDef, values: dict[str, ast.expr]
) -> Iterator[tuple[str, ast.Call]]:
    """The attributes that are these layers."""
    said = {ast.unparse(v): v for v in values.values()}
    for part in walk(start):
        if isinstance(part, ast.Assign):
            value = said.get(ast.unparse(part.value))
            attribute = self_attribute(part.targets[0])
            if attribute and isinstance(value, ast.Call):
                yield attribute, value


class _Known(NodeTransformer):
    """Values that the class is given, as its parameters."""

    def __init__(self, known: dict[str, ast.Name]):
        self.known = known

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.unparse(node) in self.known:
            return cloned(self.known[ast.unparse(node)])
        return super().visit(node)


class _Reads(NodeTransformer):
    """What a constructor reads of a layer that it is handed, `layer.size`, as what the layer is made with."""

    def __init__(self, origin: Origin, class_of, layers, values):
        self.origin, self.class_of = origin, class_of
        self.layers, self.values = layers, values

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id in self.layers:
            made = self._read(self.values[node.value.id], node.attr)
            return made if made is not None else node
        self.generic_visit(node)
        return node

    def _read(self, call: ast.expr, attribute: str) -> ast.expr | None:
        if not isinstance(call, ast.Call):
            return None
        other = self.class_of(getattr(call.func, "id", ""))
        start = method_of(other, "__init__") if other is not None else None
        if start is None:
            return None
        values = [
            s.value
            for s in start.body
            if isinstance(s, ast.Assign) and self_attribute(s.targets[0]) == attribute
        ]
        inputs = beside_self(start.args)
        try:
            bound = bind(inputs, call)
        except MisfitError:
            return None
        given = {k: v for k, v in bound.items() if isinstance(v, ast.expr)}
        if len(values) != 1 or not names(values[0]) <= {*given}:
            return None
        return replaced(values[0], given)


class Renamed(NodeTransformer):
    """`super(Old, self)` in the class that has another name."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if is_name(node.func, "super"):
            node.args = []
        return node
