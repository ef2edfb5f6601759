"""Images that norms of PyTorch are called with, which say of how many axes these are: `nn.BatchNorm2d`."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import (
    is_name,
    literal,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import walk

_DIMS = {
    f"torch.nn.{kind}{dims}d": dims
    for kind in ("BatchNorm", "InstanceNorm")
    for dims in (1, 2, 3)
    if (kind, dims) != ("BatchNorm", 1)
}

_MAPS = tuple(f"torch.nn.{kind}" for kind in ("Linear", "LayerNorm", "Dropout", "GELU"))


def with_image_ranks(origin: Origin) -> None:
    """Note the number of axes down at the name of what such a layer is called with.

    It is negative: those behind the channels are the sides of an image.
    """
    for node in origin.classes.values():
        if framework_of(origin, node) != "torch":
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef):
                _of_squares(method)
                _of_permuted(origin, node, method)
        made: dict[str, list[int]] = {}
        for part in walk(node):
            match part:
                case ast.Assign(targets=[target], value=value) if self_attribute(
                    target
                ):
                    found = _dims(origin, value)
                    made.setdefault(str(self_attribute(target)), []).append(found)
        for part in walk(node):
            match part:
                case ast.Call(func=func, args=[ast.Name() as given]):
                    dims = {*made.get(self_attribute(func) or "", [0])}
                    if len(dims) == 1 and 0 not in dims:
                        given.rank = -(2 + dims.pop())  # type: ignore[attr-defined]


def _of_squares(method: ast.FunctionDef) -> None:
    """Note that what is made of square maps, `g = x.size(2); x.view(n, a, c, g, g)`, has four axes."""
    sides: dict[str, tuple[str, list[ast.Name]]] = {}
    asked: dict[str, list[ast.Name]] = {}
    for part in method.body:
        match part:
            case ast.Assign(targets=[ast.Name(id=side)], value=value):
                array, at = _size_of(value)
                if array is not None:
                    asked.setdefault(array.id, []).append(array)
                    if at == 2:
                        sides[side] = array.id, asked[array.id]
    for call in walk(method):
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=given), attr="view" | "reshape"),
                args=[*_, ast.Name(id=one), ast.Name(id=other)],
            ) if one == other and one in sides and sides[one][0] == given:
                for place in sides[one][1]:
                    place.rank = -4  # type: ignore[attr-defined]


def _of_permuted(origin: Origin, node: ast.ClassDef, method: ast.FunctionDef) -> None:
    """Note that what is permuted, `x.permute(0, 3, 1, 2)`, has so many axes, as what it was mapped from."""
    same_axes = {
        self_attribute(part.targets[0])
        for part in walk(node)
        if isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and origin.qualified(part.value.func) in _MAPS
    }
    alive: dict[str, list[ast.Name]] = {}
    for part in method.body:
        for read in (n for n in walk(part) if isinstance(n, ast.Name)):
            if isinstance(read.ctx, ast.Load):
                alive.setdefault(read.id, []).append(read)
        match part:
            case ast.Assign(targets=[ast.Name(id=title)], value=ast.Call() as call):
                pass
            case _:
                for bound in targets(part):
                    alive.pop(bound, None)
                continue
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=given), attr="permute"),
                args=[_, _, _, *_] as order,
            ) if all(isinstance(literal(axis), int) for axis in order):
                for place in alive.get(given, []):
                    place.rank = len(order)  # type: ignore[attr-defined]
        before = alive.pop(title, [])
        kept: list[ast.Name] = []
        match call:
            case ast.Call(func=func, args=[ast.Name(id=given)]):
                if self_attribute(func) in same_axes:
                    kept = before if given == title else alive.get(given, [])
            case ast.Call(
                func=func, args=[ast.Tuple(elts=joined) | ast.List(elts=joined), *_]
            ):
                if origin.qualified(func) in ("torch.cat", "torch.concat"):
                    kept = before if any(is_name(j, title) for j in joined) else []
        alive[title] = kept


def _size_of(node: ast.expr) -> tuple[ast.Name | None, object]:
    """The array whose size along an axis an expression is, with the axis; None of another one."""
    match node:
        case (
            ast.Call(
                func=ast.Attribute(value=ast.Name() as array, attr="size"), args=[at]
            )
            | ast.Subscript(
                value=ast.Attribute(value=ast.Name() as array, attr="shape"), slice=at
            )
        ):
            return array, literal(at)
    return None, None


def _dims(origin: Origin, value: ast.expr) -> int:
    """The sides of the images that a layer takes; 0 for another one."""
    if not isinstance(value, ast.Call):
        return 0
    full = origin.qualified(value.func)
    if full == "torch.nn.Sequential" and value.args:
        return _dims(origin, value.args[0])
    return _DIMS.get(full, 0)
