"""What a parameter is that nothing is said of, told by the class of the file that it is handed to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import defaults_of, method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    names,
    self_attribute,
)
from mlax_scaffold.conversion.source.walking import walk


def handed_default(origin: Origin, node: ast.AST, parameter: str) -> ast.expr | None:
    """The number with a point, or the numbers, that a class takes by default in its place; None for neither.

    `LayerScale(dim, init_values=init_values)`, which is `init_values=1e-5`, says that it is no size, and
    `Head(dim, rates)`, which is `rates=[6, 12, 18]`, that it is several.
    """
    for call in walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            known = origin.classes.get(call.func.id)
            start = method_of(known, "__init__") if known is not None else None
            if start is None:
                continue
            defaults = defaults_of(start.args)
            for place in _places(call, start, parameter):
                if _tells(defaults.get(place)):
                    return defaults[place]
    return _given_default(origin, node, parameter)


def _given_default(origin: Origin, node: ast.AST, parameter: str) -> ast.expr | None:
    """The number with a point, or the numbers, that another class hands this one, or does by its default.

    None where it hands it a whole number elsewhere.
    """
    own = method_of(node, "__init__") if isinstance(node, ast.ClassDef) else None
    if own is None or not isinstance(node, ast.ClassDef):
        return None
    found: list[ast.expr | None] = []
    for other in origin.classes.values():
        start = method_of(other, "__init__")
        defaults = defaults_of(start.args) if start is not None else {}
        for call in walk(other):
            if not isinstance(call, ast.Call) or not is_name(call.func, node.name):
                continue
            for title, value in _given(call, own):
                if title == parameter:
                    found.append(defaults.get(getattr(value, "id", ""), value))
    if any(type(literal(told)) is int for told in found):
        return None
    return next((told for told in found if _tells(told)), None)


def _tells(default: ast.expr | None) -> bool:
    """Whether a default says more than that there is a number."""
    value = literal(default)
    if isinstance(value, tuple | list):
        return len(value) > 1 and all(type(n) in (int, float) for n in value)
    return isinstance(value, float)


def given_float(origin: Origin, title: str, parameter: str) -> bool:
    """Whether a class of the file gives a class a number with a point for it, or may do so.

    `Rotary(dim, base=rope_theta)`, where `rope_theta: float = 1e6`, says so of `base=10000`.
    """
    made = origin.classes.get(title)
    start = method_of(made, "__init__") if made is not None else None
    if start is None:
        return False
    for owner in origin.classes.values():
        outer = method_of(owner, "__init__")
        given = outer.args if outer is not None else None
        arguments = (*given.args, *given.kwonlyargs) if given is not None else ()
        types = {a.arg: a.annotation for a in arguments}
        defaults = defaults_of(given) if given is not None else {}
        for call in walk(owner):
            if isinstance(call, ast.Call) and is_name(call.func, title):
                for place, value in _given(call, start):
                    name = self_attribute(value) or getattr(value, "id", "")
                    typed = types.get(name)
                    told = typed is not None and ast.unparse(typed) == "float"
                    numbers = literal(value), literal(defaults.get(name))
                    floats = any(isinstance(n, float) for n in numbers)
                    if place == parameter and (told or floats):
                        return True
    return False


def columns(origin: Origin, node: ast.AST, parameter: str) -> list[str]:
    """The types of the numbers that elements of a sequence are taken apart into, `for w, h in anchors`.

    What layers and shapes are made of is whole. Nothing, where no element is taken apart.
    """
    found: list[list[str]] = []
    for loop in walk(node):
        if isinstance(loop, ast.For | ast.comprehension):
            for target, source in _paired(loop.target, loop.iter):
                parts = target.elts if isinstance(target, ast.Tuple) else []
                places = [e.id for e in parts if isinstance(e, ast.Name)]
                if places and len(places) == len(parts) and _is(source, parameter):
                    found.append(places)
    if not found or len({len(places) for places in found}) > 1:
        return []
    whole = _sizes(origin, node)
    return [
        "int" if whole & {*places} else "float" for places in zip(*found, strict=True)
    ]


def _sizes(origin: Origin, node: ast.AST, deep: int = 3) -> set[str]:
    """Names that layers, counts and shapes are made of."""
    found: set[str] = set()
    for call in (p for p in walk(node) if isinstance(p, ast.Call)):
        known = origin.classes.get(getattr(call.func, "id", "")) if deep else None
        start = method_of(known, "__init__") if known is not None else None
        if _SIZED.search(ast.unparse(call.func)):
            given = [*call.args, *(k.value for k in call.keywords)]
        elif known is not None and start is not None:
            inside = _sizes(origin, known, deep - 1)
            given = [v for title, v in _given(call, start) if title in inside]
        else:
            continue
        found |= {read for value in given for read in names(value)}
    return found


_SIZED = re.compile(
    r"(^range|\.(Linear|Dense|(Lazy)?Conv\w*|Embed(ding)?|\w+Norm(1d|2d|3d)?|reshape|view|zeros|ones|empty|randn))$"
)


def is_whole(node: ast.AST, parameter: str) -> bool:
    """Whether a class takes a number bit by bit, `scale & (scale - 1)`, or counts to it."""
    bits = ast.BitAnd | ast.BitOr | ast.BitXor | ast.LShift | ast.RShift
    for part in walk(node):
        match part:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, bits):
                if _is(left, parameter) or _is(right, parameter):
                    return True
            case ast.Call(func=func, args=args) if is_name(func, "range"):
                if any(_is(a, parameter) for a in args):
                    return True
    return False


def _places(call: ast.Call, start: ast.FunctionDef, parameter: str) -> Iterator[str]:
    """The parameters of a constructor that a call gives it to."""
    for title, value in _given(call, start):
        if _is(value, parameter):
            yield title


def _given(call: ast.Call, start: ast.FunctionDef) -> list[tuple[str, ast.expr]]:
    """What a call gives the parameters of a constructor."""
    titles = [a.arg for a in start.args.args[1:]]
    given = [*zip(titles, call.args, strict=False)]
    return [*given, *((str(k.arg), k.value) for k in call.keywords)]


def holds_floats(origin: Origin, node: ast.AST, parameter: str) -> bool:
    """Whether classes of the file take the elements of a sequence as numbers with a point.

    `[Block(dim, rate) for rate in rates]`, where `rate: float`, says that `rates` are no sizes.
    """
    elements = {
        target.id
        for loop in walk(node)
        if isinstance(loop, ast.For | ast.comprehension)
        for target, source in _paired(loop.target, loop.iter)
        if isinstance(target, ast.Name) and _is(source, parameter)
    }
    for call in walk(node):
        known = origin.classes.get(getattr(getattr(call, "func", None), "id", ""))
        start = method_of(known, "__init__") if known is not None else None
        if start is None or not isinstance(call, ast.Call):
            continue
        types = {a.arg: a.annotation for a in (*start.args.args, *start.args.kwonlyargs)}  # fmt: skip
        defaults = defaults_of(start.args)
        for title, value in _given(call, start):
            element = isinstance(value, ast.Name) and value.id in elements
            if isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Slice):  # fmt: skip
                element = _is(value.value, parameter)
            typed = types.get(title)
            float_ = typed is not None and ast.unparse(typed) == "float"
            if element and (float_ or isinstance(literal(defaults.get(title)), float)):
                return True
    return False


def _is(node: ast.expr, parameter: str) -> bool:
    return is_name(node, parameter) or self_attribute(node) == parameter


def _paired(target: ast.expr, source: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The names of a loop, each with what it goes over."""
    match target, source:
        case ast.Tuple(elts=[_, inner]), ast.Call(
            func=ast.Name(id="enumerate"), args=[over, *_]
        ):
            yield from _paired(inner, over)
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=sources):
            for one, over in zip(targets, sources, strict=False):
                yield from _paired(one, over)
        case _:
            yield target, source
