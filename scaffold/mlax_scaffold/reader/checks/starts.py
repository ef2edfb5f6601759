"""Finds slices whose starts have several dtypes where 64-bit mode is on."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import Import
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.exactness import exact_inputs, qualified
from mlax_scaffold.reader.remedies.names import of_jax
from mlax_scaffold.reader.source import Source, dotted, self_attribute

_STARTS = {"jax.lax.dynamic_slice": 1, "jax.lax.dynamic_update_slice": 2}
"""Functions that take starts of one dtype, and which argument they are."""
_MEASURES = ("dtype", "itemsize", "nbytes", "ndim", "shape", "size")
"""Attributes of arrays that are numbers of Python."""
_DEPTH = 4
"""So many locals are looked into, one computed of the other."""


def check_starts(
    source: Source,
    call: ast.Call,
    imports: Mapping[str, Import],
    method: ast.FunctionDef,
    attributes: Mapping[str, str],
) -> None:
    """Report `(0, index, 0)`: a number is an int64 there, and an input or a state may be an int32."""
    at = _STARTS.get(qualified(call.func, imports) or "")
    if at is None or len(call.args) <= at:
        return
    starts = call.args[at]
    if not isinstance(starts, ast.Tuple | ast.List):
        return
    numbers = [e for e in starts.elts if _is_number(e)]
    inputs = exact_inputs(method)
    names = [e.id for e in starts.elts if isinstance(e, ast.Name) and e.id in inputs]
    jnp = of_jax(source, "jnp")
    traced = [e for e in starts.elts if _is_traced(e, method, attributes, _DEPTH)]
    if numbers and not names and traced:
        texts = [f"{jnp.bound}.asarray({source.text_of(e)}, int)" for e in traced]
        edits = [source.edit(e, t) for e, t in zip(traced, texts, strict=True)]
        source.report(
            starts,
            "the starts of a slice have one dtype, and in 64-bit mode a number has another "
            f"than `{source.text_of(traced[0])}`",
            f"Give it that of numbers: `{texts[0]}`.",
            fix=Fix(tuple(edits), (jnp,)),
        )
    if not numbers or not names:
        return
    edits = [
        source.edit(number, _like(jnp.bound, names[0], number)) for number in numbers
    ]
    source.report(
        starts,
        "the starts of a slice have one dtype, and in 64-bit mode a number has another "
        f"than `{names[0]}`",
        f"Make the numbers like it: `{edits[0].text}`.",
        fix=Fix(tuple(edits), (jnp,)),
    )


def _is_traced(
    node: ast.expr, method: ast.FunctionDef, attributes: Mapping[str, str], depth: int
) -> bool:
    """Whether it is computed of a state, an input of integers, or what a function inside is given."""
    inner = {
        a.arg
        for n in walk(method)
        if isinstance(n, ast.FunctionDef | ast.Lambda) and n is not method
        for a in n.args.args
    }
    given = inner | set(exact_inputs(method))
    for part in walk(node):
        if isinstance(part, ast.Call) and (dotted(part.func) or "").endswith("asarray"):
            return False
        if attributes.get(self_attribute(part) or "") == "state":
            return True
        if _is_item(part, method):
            return True
        if isinstance(part, ast.Name):
            values = _values(part.id, method) if depth else []
            if part.id in given or any(
                _is_traced(v, method, attributes, depth - 1) for v in values
            ):
                return True
    return False


def _values(name: str, method: ast.FunctionDef) -> list[ast.expr]:
    """What statements bind a local to, of which one may run, or another."""
    return [
        node.value
        for node in walk(method)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]


def _is_item(node: ast.AST, method: ast.FunctionDef) -> bool:
    """Whether it is an array of an input that is a NamedTuple or a dictionary: `cache.length`."""
    given = {a.arg for a in (*method.args.args, *method.args.kwonlyargs)} - {"self"}
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return name in given and attr not in _MEASURES
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())):
            return name in given
    return False


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _like(jnp: str, name: str, number: ast.expr) -> str:
    assert isinstance(number, ast.Constant)
    if number.value == 0:
        return f"{jnp}.zeros_like({name})"
    return f"{jnp}.full_like({name}, {number.value})"
