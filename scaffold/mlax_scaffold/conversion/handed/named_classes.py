"""Classes of a file under other names: `block = Bottleneck`, and parameters that are always one class.

self.layer1 = self._make_layer(block, 64)    becomes    self.layer1 = self._make_layer(64)

where `block` is `Bottleneck` by default, and `_make_layer` makes that.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping

from mlax_scaffold.conversion.source.class_constants import without_class_constants
from mlax_scaffold.conversion.source.kinds import is_layer_class
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, self_attribute, targets
from mlax_scaffold.conversion.source.walking import NodeTransformer, located, walk


def without_class_names(origin: Origin, notes: Notes) -> None:
    """Write the classes where they are named, in place."""
    known = {n for n, c in origin.classes.items() if is_layer_class(origin, c)}
    changed = False
    for node in origin.classes.values():
        if node.name not in known:
            continue
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        start = methods.get("__init__")
        if start is None:
            continue
        named = {
            **_defaults(origin, notes, node, start, known),
            **_locals(start, known),
        }
        changed = bool(named) or changed
        _written(start, named)
        for method in methods.values():
            handed = _handed(start, method, known)
            changed = bool(handed) or changed
            _written(method, handed)
            _without(start, method, handed)
    if changed:
        located(origin.tree)
        without_class_constants(origin.tree)


def _defaults(
    origin: Origin,
    notes: Notes,
    node: ast.ClassDef,
    start: ast.FunctionDef,
    known: set[str],
) -> dict[str, str]:
    """The parameters that are a class by default, and are given no other one."""
    found: dict[str, str] = {}
    given = start.args
    pairs = [*zip(reversed(given.args), reversed(given.defaults), strict=False)]
    for argument, default in pairs:
        title = default.id if isinstance(default, ast.Name) else ""
        if title not in known or title == node.name:
            continue
        if _given_elsewhere(origin, node, argument.arg, given, title):
            continue
        at = given.args.index(argument)
        given.defaults.pop(at - len(given.args) + len(given.defaults))
        given.args.pop(at)
        found[argument.arg] = title
        notes.remark(
            argument,
            f"`{argument.arg}`, a class of layers, is always its default",
            "write another spec for another class",
        )
    return found


def _given_elsewhere(
    origin: Origin, node: ast.ClassDef, place: str, given: ast.arguments, title: str
) -> bool:
    """Whether the file makes the class with something for a parameter: by keyword, or in its place."""
    at = [a.arg for a in given.args].index(place) - 1
    return any(
        is_name(part.func, node.name)
        and (len(part.args) > at or any(k.arg == place for k in part.keywords))
        for part in walk(origin.tree)
        if isinstance(part, ast.Call)
    )


def _locals(start: ast.FunctionDef, known: set[str]) -> dict[str, str]:
    """The locals of a constructor that are a class, and nothing else."""
    found: dict[str, str] = {}
    for part in list(start.body):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=ast.Name(id=title)):
                bound = [t for p in walk(start) for t in _bound(p) if t == local]
                if title in known and len(bound) == 1:
                    found[local] = title
                    start.body.remove(part)
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=local),
                    ops=[ast.Is()],
                    comparators=[ast.Constant(value=None)],
                ),
                body=[
                    ast.Assign(targets=[ast.Name(id=other)], value=ast.Name(id=title))
                ],
                orelse=[],
            ) if local == other and title in known:
                # A parameter that is None by default stays one.
                continue
    return found


def _bound(node: ast.AST) -> list[str]:
    return [*targets(node)] if isinstance(node, ast.Name) else []


def _handed(
    start: ast.FunctionDef, method: ast.FunctionDef, known: set[str]
) -> dict[str, str]:
    """The parameters of a method that a constructor gives one class in all of its calls."""
    if method is start:
        return {}
    parameters = [a.arg for a in method.args.args if a.arg != "self"]
    told: dict[str, set[str]] = {}
    for call in _calls(start, method):
        pairs = [*zip(parameters, call.args, strict=False)]
        pairs += [(str(k.arg), k.value) for k in call.keywords]
        for parameter, value in pairs:
            told.setdefault(parameter, set()).add(getattr(value, "id", ""))
    return {p: t.pop() for p, t in told.items() if len(t) == 1 and t <= known}


def _calls(start: ast.FunctionDef, method: ast.FunctionDef) -> list[ast.Call]:
    return [
        part
        for part in walk(start)
        if isinstance(part, ast.Call) and self_attribute(part.func) == method.name
    ]


def _without(
    start: ast.FunctionDef, method: ast.FunctionDef, handed: Mapping[str, str]
) -> None:
    """Take parameters out of a method and its calls."""
    for parameter in handed:
        places = [a.arg for a in method.args.args]
        at = places.index(parameter)
        count = len(method.args.defaults)
        if at >= len(places) - count:
            method.args.defaults.pop(at - len(places) + count)
        method.args.args.pop(at)
        for call in _calls(start, method):
            if at - 1 < len(call.args):
                call.args.pop(at - 1)
            call.keywords = [k for k in call.keywords if k.arg != parameter]


def _written(function: ast.FunctionDef, named: Mapping[str, str]) -> None:
    class Write(NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in named and isinstance(node.ctx, ast.Load):
                made = copy.copy(node)
                made.id = named[node.id]
                return made
            return node

    if named:
        for part in function.body:
            Write().visit(part)
