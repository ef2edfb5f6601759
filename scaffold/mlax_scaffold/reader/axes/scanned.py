"""What a step of `lax.scan` calls the elements of the arrays that it goes through."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.source import dotted

_MOVED = ("moveaxis", "swapaxes", "transpose")


def elements(
    node: ast.Call, functions: Mapping[str, ast.FunctionDef]
) -> tuple[ast.FunctionDef, dict[str, ast.expr]] | None:
    """The step of a scan, and the arrays whose elements its names are: those of `k, dt = xs`, too."""
    if (dotted(node.func) or "").rpartition(".")[2] != "scan":
        return None
    given = [*node.args[2:3], *(k.value for k in node.keywords if k.arg == "xs")]
    match node.args[:1], given:
        case [ast.Name(id=name)], [xs] if name in functions:
            step = functions[name]
        case _:
            return None
    parameters = [a.arg for a in step.args.args]
    if len(parameters) != 2:
        return None
    names: list[ast.expr] = [ast.Name(parameters[1])]
    arrays = [xs]
    if isinstance(xs, ast.Tuple):
        arrays = xs.elts
        names = _unpacked(step, parameters[1])
    pairs = zip(names, arrays, strict=False)
    return step, {
        own.id: _whole(array) for own, array in pairs if isinstance(own, ast.Name)
    }


def _unpacked(step: ast.FunctionDef, name: str) -> list[ast.expr]:
    for statement in step.body:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name(id=given)):
                if given == name:
                    return parts
    return []


def _whole(node: ast.expr) -> ast.expr:
    """The array whose axes are in another order: `x` of `x.T`, `jnp.swapaxes(x, 0, 1)`."""
    match node:
        case ast.Attribute(value=inner, attr="T" | "mT"):
            return inner
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args) if (
            name in _MOVED
        ):
            library = isinstance(owner, ast.Name) and owner.id in ("jnp", "jax", "np")
            return args[0] if library and args else owner
    return node


def binds(statement: ast.stmt, names: Mapping[str, object]) -> bool:
    """Whether it is `k, dt = xs`."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Name()):
            return any(isinstance(p, ast.Name) and p.id in names for p in parts)
    return False


def note(known: Known, element: Known) -> None:
    """What an element says of the array: its kind, its last axis, and that it has one more."""
    if known.kind == "Float":
        known.kind = element.kind
    if size := element.axes.get(-1):
        known.call(-1, size)
    if element.exact is not None:
        known.has(element.exact + 1)
