"""Tuples of axes and sizes that a class of PyTorch is made with and spreads in its call, as what they hold.

class Permute(nn.Module):
    def __init__(self, *dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return x.permute(*self.dims)

is a class for each way in which the file makes one: of `Permute(0, 2, 1)`, it returns `x.permute(0, 2, 1)`.
What is no literal, as in `View(channels, 7, 7)`, stays a parameter.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.conversion.source.arguments_of import (
    given_to,
    method_of,
    without_arguments,
)
from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.known_values import Known, items_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name, literal, self_attribute
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_SPREADING = (
    *("permute", "view", "reshape", "transpose", "expand", "repeat", "unflatten"),
    *("movedim", "swapaxes", "flip", "roll"),
)
_Way = tuple[str | None, ...]
"""What a tuple holds: literals as they are written, and None for all else."""


@dataclass(frozen=True)
class _Kept:
    """A class that keeps a tuple as it is given."""

    node: ast.ClassDef
    start: ast.FunctionDef
    parameter: str
    attribute: str


def without_spread_tuples(origin: Origin, thing: str) -> None:
    """Change such classes, and what makes them, in place; not the class that is asked for."""
    for node in list(origin.classes.values()):
        kept = _kept(node) if node.name != thing else None
        if kept is None or framework_of(origin, node) != "torch":
            continue
        calls = _calls(origin, node)
        found = [(c, _held(kept, c)) for c in calls]
        if not calls or any(held is None for _, held in found):
            continue
        _written(origin, kept, [(c, held) for c, held in found if held is not None])


def _kept(node: ast.ClassDef) -> _Kept | None:
    """What a class keeps of its constructor, and spreads in its methods."""
    start = method_of(node, "__init__")
    if start is None or start.args.kwarg is not None:
        return None
    others = [m for m in node.body if isinstance(m, ast.FunctionDef) and m is not start]
    spread = {a for m in others for p in walk(m) for a in _spread_in(p)}
    for part in start.body:
        match part:
            case ast.Assign(targets=[target], value=ast.Name(id=title)):
                attribute = self_attribute(target)
                reads = [p for p in walk(start) if is_name(p, title)]
                if attribute in spread and len(reads) == 1:
                    return _Kept(node, start, title, str(attribute))
    return None


def _spread_in(node: ast.AST) -> list[str]:
    """The attributes of self that a call spreads, or takes as its axes or sizes."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    if node.func.attr not in _SPREADING:
        return []
    given = [a.value if isinstance(a, ast.Starred) else a for a in node.args]
    return [a for g in given if (a := self_attribute(g)) is not None]


def _calls(origin: Origin, node: ast.ClassDef) -> list[ast.Call]:
    """What makes a class; nothing where it is read in another way."""
    calls = [
        part
        for part in walk(origin.tree)
        if isinstance(part, ast.Call) and is_name(part.func, node.name)
    ]
    inside = {id(part) for part in walk(node)}
    reads = [
        part
        for part in walk(origin.tree)
        if is_name(part, node.name) and id(part) not in inside
    ]
    return calls if len(reads) == len(calls) else []


def _held(kept: _Kept, call: ast.Call) -> list[ast.expr] | None:
    """The elements of the tuple that a call gives; None where that is not to be told."""
    given = kept.start.args
    if given.vararg is not None and given.vararg.arg == kept.parameter:
        items: list[ast.expr] | None = call.args[len(given.args) - 1 :]
    else:
        bound = given_to(kept.start, call)
        value = bound.get(kept.parameter) if bound is not None else None
        items = items_of(value) if value is not None else None
    if not items or any(isinstance(i, ast.Starred) for i in items):
        return None
    items = [Known({}, {}).value(i) for i in items]
    alone = given.vararg is None or given.vararg.arg == kept.parameter
    one = len(items) == 1 and isinstance(items[0], ast.Tuple | ast.List | ast.Name)
    return items if alone and not one else None


def _way(held: Sequence[ast.expr]) -> _Way:
    return tuple(
        None if isinstance(literal(i), ast.AST) else ast.unparse(i) for i in held
    )


def _written(
    origin: Origin, kept: _Kept, found: Sequence[tuple[ast.Call, list[ast.expr]]]
) -> None:
    """A class for each way in which one is made, in the place of the one that takes a tuple."""
    made: dict[_Way, ast.ClassDef] = {}
    for call, held in found:
        way = _way(held)
        if way not in made:
            made[way] = _class(kept, held, _named(origin, kept.node.name, len(made)))
        _call(kept, call, held, made[way].name)
    at = origin.tree.body.index(kept.node)
    origin.tree.body[at : at + 1] = made.values()
    origin.forget("classes", "copied")
    located(origin.tree)


def _named(origin: Origin, title: str, count: int) -> str:
    """The first one has its name."""
    made, number = title, count
    while count and (made == title or made in origin.classes):
        number += 1
        made = f"{title}{number}"
    return made


def _class(kept: _Kept, held: Sequence[ast.expr], title: str) -> ast.ClassDef:
    parts = [
        cloned(i)
        if not isinstance(literal(i), ast.AST)
        else _attribute(f"{kept.attribute}_{number}")
        for number, i in enumerate(held)
    ]
    node = cloned(kept.node)
    node.name = title
    spreading = Known({}, {kept.attribute: ast.Tuple(parts, ast.Load())})
    body: list[ast.stmt] = []
    for part in node.body:
        if not isinstance(part, ast.FunctionDef):
            body.append(part)
        elif part.name == "__init__":
            body.append(_start(kept, part, held))
        else:
            body.append(spreading.visit(part))
    node.body = body
    for part in walk(node):
        if isinstance(part, ast.Call) and is_name(part.func, "super"):
            part.args = []
    return node


def _start(
    kept: _Kept, start: ast.FunctionDef, held: Sequence[ast.expr]
) -> ast.FunctionDef:
    """The constructor, which is given those elements alone that are no literals."""
    open_ = [f"{kept.parameter}_{n}" for n, w in enumerate(_way(held)) if w is None]
    without_arguments(start.args, {kept.parameter})
    if start.args.vararg is not None:
        start.args.vararg = None
    start.args.kwonlyargs += [ast.arg(title) for title in open_]
    start.args.kw_defaults += [None] * len(open_)
    body: list[ast.stmt] = []
    for part in start.body:
        if not (isinstance(part, ast.Assign) and is_name(part.value, kept.parameter)):
            body.append(part)
            continue
        for title in open_:
            number = title.removeprefix(f"{kept.parameter}_")
            target = _attribute(f"{kept.attribute}_{number}")
            target.ctx = ast.Store()
            body.append(ast.Assign([target], ast.Name(title, ast.Load())))
    start.body = [
        ast.copy_location(p, start) if not hasattr(p, "lineno") else p for p in body
    ]
    return start


def _call(kept: _Kept, call: ast.Call, held: Sequence[ast.expr], title: str) -> None:
    """Make the class without the tuple, in place."""
    given = kept.start.args
    places = [a.arg for a in given.args[1:]]
    call.func = ast.copy_location(ast.Name(title, ast.Load()), call.func)
    call.keywords = [k for k in call.keywords if k.arg != kept.parameter]
    bound: Mapping[str, ast.expr] = dict(zip(places, call.args, strict=False))
    more = {p: v for p, v in bound.items() if p != kept.parameter}
    call.args = []
    call.keywords += [ast.keyword(p, v) for p, v in more.items()]
    call.keywords += [
        ast.keyword(f"{kept.parameter}_{n}", i)
        for n, (i, w) in enumerate(zip(held, _way(held), strict=True))
        if w is None
    ]


def _attribute(title: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("self", ast.Load()), title, ast.Load())
