"""Lists of layers that a class of PyTorch is handed: `Encoder([Layer(dim) for _ in range(depth)])`.

A class that takes any number of layers, `def __init__(self, *layers)`, is one that takes a list of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlax_scaffold.conversion.source.arguments_of import method_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import located, walk

_HELD = ("torch.nn.ModuleList", "torch.nn.Sequential")


def with_listed_layers(origin: Origin) -> None:
    """Write classes that take any number of layers so, and their calls, in place."""
    found: dict[str, str] = {}
    for title, node in origin.classes.items():
        start = method_of(node, "__init__")
        vararg = start.args.vararg if start is not None else None
        if start is None or vararg is None or len(start.args.args) != 1:
            continue
        if start.args.kwarg is not None or vararg.arg not in {*_listed(origin, start)}:
            continue
        if any(
            is_name(base, title) for c in origin.classes.values() for base in c.bases
        ):
            continue
        found[title] = vararg.arg
        start.args.args.append(vararg)
        start.args.vararg = None
    for part in walk(origin.tree) if found else ():
        if isinstance(part, ast.Call) and getattr(part.func, "id", "") in found:
            match part.args:
                case [ast.Starred(value=given)]:
                    part.args = [given]
                case given:
                    part.args = [ast.List(given, ast.Load())]
    located(origin.tree)


def listed_parameters(origin: Origin, node: ast.ClassDef) -> list[str]:
    """The parameters of a class that it keeps as lists of layers."""
    start = method_of(node, "__init__")
    return [] if start is None else list(_listed(origin, start))


def _listed(origin: Origin, start: ast.FunctionDef) -> Iterator[str]:
    for part in walk(start):
        if not isinstance(part, ast.Call) or origin.qualified(part.func) not in _HELD:
            continue
        match part.args:
            case [ast.Name(id=local)] | [ast.Starred(value=ast.Name(id=local))]:
                yield local


def elements_of(node: ast.expr) -> list[ast.expr]:
    """The layers of a list, which a comprehension makes alike, or of a choice; none of anything else."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.ListComp(elt=elt, generators=[one]) if not one.ifs:
            return [elt]
        case ast.List(elts=elts):
            return elts
    return []
