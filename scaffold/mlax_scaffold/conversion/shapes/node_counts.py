"""Arrays of nodes, as many as what is summed by segments has: `segment_sum(m, receivers, nodes.shape[0])`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.shapes.values import Array, Value
from mlax_scaffold.conversion.source.walking import walk

_SEGMENTS = "segment_"


def with_nodes(
    symbols: Symbols, function: ast.FunctionDef, env: Mapping[str, Value]
) -> None:
    """Take them to be rows of features."""
    for given in _of_nodes(function) & env.keys():
        value = env[given]
        if isinstance(value, Array) and value.lead:
            symbols.ranked(value, ("nodes", "features"))


def _of_nodes(function: ast.FunctionDef) -> set[str]:
    """The inputs whose first axis is counted by the segments of a sum."""
    counts: dict[str, str] = {}
    for part in walk(function):
        match part:
            case ast.Assign(targets=[ast.Name(id=local)], value=value):
                counts[local] = _counted(value)
    found: set[str] = set()
    for part in walk(function):
        if not isinstance(part, ast.Call):
            continue
        if not ast.unparse(part.func).rpartition(".")[2].startswith(_SEGMENTS):
            continue
        given = [k.value for k in part.keywords if k.arg == "num_segments"]
        for count in (*part.args[2:3], *given):
            local = count.id if isinstance(count, ast.Name) else ""
            found.add(counts.get(local) or _counted(count))
    return found - {""}


def _counted(node: ast.expr) -> str:
    """The array whose first axis a number counts; "" for another number."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=local), attr="shape"),
            slice=ast.Constant(value=0),
        ):
            return local
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=local)]):
            return local
    return ""
