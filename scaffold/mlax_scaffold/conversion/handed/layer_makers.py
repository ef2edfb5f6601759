"""Functions of PyTorch's code that make one layer or another of what they are given, as these layers.

def conv_nd(dims, *args, **kwargs):
    if dims == 1:
        return nn.Conv1d(*args, **kwargs)       becomes     self.conv = nn.Conv2d(size, size, 3)
    elif dims == 2:
        return nn.Conv2d(*args, **kwargs)
...
self.conv = conv_nd(dims, size, size, 3)

What a parameter of a class chooses so, it chooses by its default, where all calls of the file keep to that:
of what is converted it is told.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from mlax_scaffold.conversion.source.arguments_of import (
    defaults_of,
    given_to,
    method_of,
    without_parameters,
)
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.notes import Notes
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    self_attribute,
    without_docstring,
)
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_Choice = dict[object, ast.expr]
_Settled = dict[tuple[str, str], object]


@dataclass
class _Maker:
    """A function that hands what it is given to a layer, after what chooses that."""

    chosen: bool
    layers: _Choice


def without_layer_makers(origin: Origin, thing: str, notes: Notes) -> None:
    """Write such calls so, in place."""
    if not origin.uses("torch"):
        return
    makers = {t: m for t, f in origin.functions.items() if (m := _maker(origin, f))}
    if not makers:
        return
    settled = _settled(origin, {t for t, m in makers.items() if m.chosen})
    for (title, parameter), value in (settled or {}).items():
        _settle(origin, origin.classes[title], parameter, ast.Constant(value))  # type: ignore[arg-type]
        if title == thing:
            notes.remark(
                origin.classes[title],
                f"`{parameter}` of {title} is always `{value!r}`",
                "write another spec for other values: they decide which layers there are",
            )
    _Calls(makers).visit(origin.tree)
    located(origin.tree)


def _maker(origin: Origin, function: ast.FunctionDef) -> _Maker | None:
    spread = function.args.vararg, function.args.kwarg
    given = [a.arg for a in function.args.args]
    if None in spread or len(given) > 1 or function.args.kwonlyargs:
        return None
    layers: _Choice = {}
    body = without_docstring(function.body)
    while body:
        match body:
            case [ast.Return() as end, *_] if not given:
                made = _handed(origin, end, function)
                return _Maker(False, {None: made}) if made is not None else None
            case [
                ast.If(
                    test=ast.Compare(
                        left=ast.Name(id=read),
                        ops=[ast.Eq()],
                        comparators=[ast.Constant(value=value)],
                    ),
                    body=[ast.Return() as end],
                    orelse=rest,
                ),
                *after,
            ] if [read] == given and not (rest and [s for s in after if not _ends(s)]):
                made = _handed(origin, end, function)
                if made is None:
                    return None
                layers[value] = made
                body = rest or after
            case [ast.Raise() | ast.Assert(), *_]:
                break
            case _:
                return None
    return _Maker(True, layers) if layers else None


def _ends(node: ast.stmt) -> bool:
    return isinstance(node, ast.Raise | ast.Assert)


def _handed(
    origin: Origin, end: ast.Return, function: ast.FunctionDef
) -> ast.expr | None:
    """The layer that is handed all that the function is given."""
    match end.value:
        case ast.Call(
            func=func,
            args=[ast.Starred(value=ast.Name(id=some))],
            keywords=[ast.keyword(arg=None, value=ast.Name(id=named))],
        ):
            spread = (
                getattr(function.args.vararg, "arg", ""),
                getattr(function.args.kwarg, "arg", ""),
            )
            of_library = (origin.qualified(func) or "").startswith("torch.nn.")
            own = getattr(func, "id", "") in origin.classes
            return func if (some, named) == spread and (of_library or own) else None
    return None


def _settled(origin: Origin, makers: set[str]) -> _Settled | None:
    """The parameters of classes that choose layers, and their defaults; None where one has no such."""
    found: _Settled = {}
    queue: list[tuple[ast.ClassDef, ast.expr]] = [
        (node, part.args[0])
        for node in origin.classes.values()
        for part in walk(node)
        if isinstance(part, ast.Call)
        and getattr(part.func, "id", "") in makers
        and part.args
        and not isinstance(part.args[0], ast.Constant)
    ]
    while queue:
        node, value = queue.pop()
        parameter, default = _parameter(node, value)
        if (node.name, parameter) in found:
            continue
        if not isinstance(default, int):
            return None
        found[node.name, parameter] = default
        start = method_of(node, "__init__")
        for other in origin.classes.values():
            for call in walk(other):
                if not isinstance(call, ast.Call) or not is_name(call.func, node.name):
                    continue
                bound = given_to(start, call) if start is not None else None
                if bound is None:
                    return None
                given = bound[parameter]
                if isinstance(given, ast.Constant):
                    if given.value != default:
                        return None
                    continue
                if _parameter(other, given)[1] != default:
                    return None
                queue.append((other, given))
    return found


def _parameter(node: ast.ClassDef, value: ast.expr) -> tuple[str, object]:
    """The parameter of a constructor that an expression is, by name or as it keeps it, and its default."""
    start = method_of(node, "__init__")
    if start is None:
        return "", None
    title = getattr(value, "id", "")
    kept = self_attribute(value)
    for part in start.body:
        if (
            kept
            and isinstance(part, ast.Assign)
            and self_attribute(part.targets[0]) == kept
        ):
            title = getattr(part.value, "id", "")
    default = defaults_of(start.args).get(title)
    return title, literal(default) if default is not None else None


def _settle(
    origin: Origin, node: ast.ClassDef, parameter: str, value: ast.expr
) -> None:
    start = method_of(node, "__init__")
    assert start is not None
    kept: dict[str, ast.expr] = {
        str(self_attribute(p.targets[0])): value
        for p in start.body
        if isinstance(p, ast.Assign)
        and is_name(p.value, parameter)
        and self_attribute(p.targets[0])
    }
    without_parameters(origin.tree, node, start, {parameter})
    start.body = [
        s
        for s in start.body
        if not (isinstance(s, ast.Assign) and is_name(s.value, parameter))
    ] or [ast.Pass()]
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            names = {parameter: value} if method is start else {}
            method.body = Decided(Known(names, kept)).statements(method.body)


class _Calls(NodeTransformer):
    def __init__(self, makers: dict[str, _Maker]):
        self.makers = makers

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        maker = self.makers.get(getattr(node.func, "id", ""))
        if maker is None or (maker.chosen and not node.args):
            return node
        if maker.chosen and not isinstance(node.args[0], ast.Constant):
            return node
        value = node.args[0].value if maker.chosen else None  # type: ignore[attr-defined]
        if value in maker.layers:
            node.func = ast.copy_location(cloned(maker.layers[value]), node.func)
            node.args = node.args[1:] if maker.chosen else node.args
        return node
