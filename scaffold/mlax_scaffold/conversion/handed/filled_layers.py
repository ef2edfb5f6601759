"""Functions of PyTorch that make a layer and fill its weights: the layer, and what fills it where it is kept.

def Linear(inputs, outputs, bias=True):
    layer = nn.Linear(inputs, outputs, bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.constant_(layer.bias, 0.0)
    return layer

becomes `return nn.Linear(inputs, outputs, bias)`, and `self.fc = Linear(8, 4)` is followed by what fills
`self.fc.weight` and `self.fc.bias`. A layer that is kept in a list begins as it usually does, which is told.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.conversion.handed.layer_functions import bound_arguments
from mlax_scaffold.conversion.source.arguments_of import beside_self
from mlax_scaffold.conversion.source.known_values import Known, truth
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    is_none,
    names,
    replaced,
    self_attribute,
    with_names,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_STARTS = ("__init__", "setup")


@dataclass(frozen=True)
class _Filling:
    """A function that fills what it makes."""

    function: ast.FunctionDef
    """As it was, without the object that a method has."""
    local: str
    """What it calls the layer."""
    locals: Mapping[str, ast.expr]
    """What it computes beside it."""
    fills: tuple[ast.stmt, ...]


def without_filled_layers(origin: Origin, notes: Notes) -> None:
    """Change such functions and methods, and the constructors that call them, in place."""
    if not any(full.startswith("torch") for full in origin.imports.values()):
        return
    functions = {
        title: found
        for title, function in origin.functions.items()
        if (found := _filling(origin, function, function.args)) is not None
    }
    for found in functions.values():
        _without_fills(origin.functions[found.function.name], found)
    while more := {
        title: found
        for title, function in origin.functions.items()
        if title not in functions
        and (found := _handing(function, functions)) is not None
    }:
        for found in more.values():
            _without_fills(origin.functions[found.function.name], found)
        functions |= more
    told: set[int] = set()
    for node in origin.classes.values():
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        own: dict[str, _Filling] = {}
        for method in methods:
            static = any(is_name(d, "staticmethod") for d in method.decorator_list)
            given = method.args if static else beside_self(method.args)
            found = _filling(origin, method, given)
            if method.name not in _STARTS and found is not None:
                own[f"self.{method.name}"] = found
                _without_fills(method, found)
        known = {**functions, **own}
        for method in methods if known else ():
            method.body = _kept(method.body, known, notes, told)
    located(origin.tree)


def _filling(
    origin: Origin, function: ast.FunctionDef, given: ast.arguments
) -> _Filling | None:
    """What fills the layer that a function makes and returns; None where that is not all that it does."""
    body = without_docstring(function.body)
    match body[-1:]:
        case [ast.Return(value=ast.Name(id=local))]:
            pass
        case _:
            return None
    values: dict[str, ast.expr] = {}
    fills: list[ast.stmt] = []
    for part in body[:-1]:
        match part:
            case ast.Assign(targets=[ast.Name(id=title)], value=value) if (
                title not in values and (local not in values or title != local)
            ):
                values[title] = replaced(cloned(value), values)
            case _ if local in values and _fills(origin, part, local):
                fills.append(part)
            case _:
                return None
    parameters = {a.arg for a in (*given.args, *given.kwonlyargs)}
    if (
        not fills
        or not isinstance(values.get(local), ast.Call)
        or parameters & {*values}
    ):
        return None
    alone = copy.copy(function)
    alone.args = given
    return _Filling(alone, local, values, tuple(fills))


def _handing(
    function: ast.FunctionDef, known: Mapping[str, _Filling]
) -> _Filling | None:
    """What fills the layer that a function is handed by another one, and returns as it is."""
    match without_docstring(function.body):
        case [ast.Return(value=ast.Call() as call)]:
            inner = _called(call, known)
        case _:
            return None
    given = bound_arguments(inner.function, call) if inner is not None else None
    if inner is None or given is None:
        return None
    held = {t: replaced(cloned(v), given) for t, v in inner.locals.items()}
    parts = {**given, **held, inner.local: ast.Name(inner.local, ast.Load())}
    fills = tuple(with_names(cloned(s), parts) for s in inner.fills)
    return _Filling(function, inner.local, {inner.local: held[inner.local]}, fills)


def _fills(origin: Origin, node: ast.stmt, local: str) -> bool:
    """Whether a statement does nothing but give the weights of a layer their numbers."""
    match node:
        case ast.If(body=body, orelse=orelse):
            told = local not in names(node.test) or _asks_for_bias(node.test, local)
            return told and all(_fills(origin, s, local) for s in (*body, *orelse))
        case ast.With(items=[ast.withitem(ast.Call(func=func))], body=body):
            quiet = origin.qualified(func) == "torch.no_grad"
            return quiet and all(_fills(origin, s, local) for s in body)
        case ast.Expr(value=ast.Call(func=func, args=args)):
            if origin.qualified(func).startswith("torch.nn.init."):
                return bool(args) and _is_weight_of(args[0], local)
            changes = isinstance(func, ast.Attribute) and func.attr.endswith("_")
            return changes and _is_weight_of(func.value, local)  # type: ignore[attr-defined]
        case ast.AugAssign(target=target):
            return _is_weight_of(target, local)
        case ast.Assign(targets=[target]):
            inside = isinstance(target, ast.Subscript) or (
                isinstance(target, ast.Attribute) and target.attr == "data"
            )
            return inside and _is_weight_of(target, local)
    return False


def _asks_for_bias(node: ast.expr, local: str) -> bool:
    """`layer.bias is not None`."""
    match node:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id=title), attr="bias"),
            ops=[ast.Is() | ast.IsNot()],
            comparators=[other],
        ):
            return title == local and is_none(other)
    return False


def _is_weight_of(node: ast.expr, local: str) -> bool:
    """Whether an expression is a weight of the layer, `layer.weight`, its numbers, or a part of these."""
    titles: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript):
        titles += [node.attr] if isinstance(node, ast.Attribute) else []
        node = node.value
    return is_name(node, local) and titles[-1:] in (["weight"], ["bias"])


def _without_fills(function: ast.FunctionDef, found: _Filling) -> None:
    """The function that makes the layer alone."""
    body = without_docstring(function.body)
    head = function.body[: len(function.body) - len(body)]
    made = ast.Return(cloned(found.locals[found.local]))
    function.body = [*head, ast.copy_location(made, body[-1])]


def _kept(
    body: list[ast.stmt],
    known: Mapping[str, _Filling],
    notes: Notes,
    told: set[int],
) -> list[ast.stmt]:
    """Statements, with what fills the layers that they keep."""
    made: list[ast.stmt] = []
    for node in body:
        for title in ("body", "orelse"):
            inner = getattr(node, title, None)
            if isinstance(inner, list):
                setattr(node, title, _kept(inner, known, notes, told))
        made.append(node)
        attribute, call = None, None
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            attribute, call = self_attribute(node.targets[0]), node.value
        found = _called(call, known) if attribute is not None else None
        if found is not None and isinstance(call, ast.Call):
            made += _fills_of(found, call, node.targets[0])  # type: ignore[attr-defined]
            continue
        if isinstance(node, ast.If | ast.For | ast.With | ast.FunctionDef):
            continue
        for part in walk(node):
            other = _called(part, known)
            if other is not None and id(other) not in told:
                told.add(id(other))
                for fill in _single(other.fills):
                    notes.remark(
                        fill,
                        f"`{ast.unparse(fill)}` is left out: the weight begins with other numbers",
                        "give the weight an initializer that makes these numbers",
                    )
    return made


def _single(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements, of those under conditions each."""
    for node in body:
        if isinstance(node, ast.If | ast.With):
            yield from _single([*node.body, *getattr(node, "orelse", [])])
        else:
            yield node


def _called(node: ast.AST | None, known: Mapping[str, _Filling]) -> _Filling | None:
    return known.get(ast.unparse(node.func)) if isinstance(node, ast.Call) else None


def _fills_of(found: _Filling, call: ast.Call, kept: ast.expr) -> list[ast.stmt]:
    """What fills the layer that a call makes, under the name that it is kept by."""
    given = bound_arguments(found.function, call)
    if given is None:
        return []
    place = cloned(kept)
    place.ctx = ast.Load()  # type: ignore[attr-defined]
    parts = {t: replaced(cloned(v), given) for t, v in found.locals.items()}
    parts = {**given, **parts, found.local: place}
    made = [with_names(cloned(s), parts) for s in found.fills]
    for part in made:
        for inner in walk(part):
            if hasattr(inner, "lineno"):
                ast.copy_location(inner, call)
    return _settled(made)


def _settled(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without those that conditions on literals leave out."""
    made: list[ast.stmt] = []
    for node in body:
        decided = (
            truth(Known({}, {}).value(node.test)) if isinstance(node, ast.If) else None
        )
        if isinstance(node, ast.If) and decided is not None:
            made += _settled(node.body if decided else node.orelse)
        else:
            made.append(node)
    return made
