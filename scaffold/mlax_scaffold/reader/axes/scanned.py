"""What a step of `lax.scan` calls the elements of the arrays that it goes through."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping

from mlax_scaffold.reader.axes.known import Known
from mlax_scaffold.reader.checks.local_values import only_value
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


def lead(
    function: ast.FunctionDef, inputs: Mapping[str, Known], taken: Collection[str]
) -> None:
    """What nothing else is known of: an array that a scan goes through has an axis before those of its carry.

    `lax.scan(step, (jnp.zeros_like(last), last), (rewards, values))`. It has none of the names that
    are taken.
    """
    axis = next(name for name in ("time", "steps", "scanned") if name not in taken)
    inner = [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef)]
    functions = {f.name: f for f in inner if f is not function}
    for call in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
        found = elements(call, functions)
        if found is None or len(call.args) < 2:
            continue
        arrays = [*_named(found[1].values(), inputs)]
        carried = [*_named(_parts(call.args[1], function), inputs)]
        if not arrays or not carried:
            continue
        for known in (*arrays, *carried):
            if known.told or known.like is not None:
                continue
            known.open = "*batch"
            if known in arrays:
                known.name_axis(0, axis)
                known.front = 1


def _named(nodes: Iterable[ast.expr], inputs: Mapping[str, Known]) -> Iterator[Known]:
    """The inputs that expressions are, or are of the shape of."""
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[of, *_]) if (
                name.endswith("_like")
            ):
                yield from _named([of], inputs)
            case ast.Name(id=name) if name in inputs:
                yield inputs[name]


def _parts(node: ast.expr, function: ast.FunctionDef) -> list[ast.expr]:
    """The items of a tuple, also of one that a local is; of all else itself."""
    values = [node]
    if isinstance(node, ast.Name):
        values = only_value(node.id, function) or values
    return [p for v in values for p in (v.elts if isinstance(v, ast.Tuple) else [v])]


def note(known: Known, element: Known) -> None:
    """What an element says of the array: its kind, its last axis, and that it has one more."""
    if known.kind == "Float":
        known.kind = element.kind
    if size := element.axes.get(-1):
        known.call(-1, size)
    if element.exact is not None:
        known.has(element.exact + 1)
