"""Locals that are lists of layers from the beginning, as plain lists that become such at their end.

layers = nn.ModuleList()                        layers = []
layers.append(Block(width))         becomes     layers.append(Block(width))
return layers                                   return nn.ModuleList(layers)
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import located, walk

_LIST = "torch.nn.ModuleList"


def without_local_lists(origin: Origin) -> None:
    """Write them so, in functions and methods of a file for PyTorch, in place."""
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef):
            for part in walk(node):
                if isinstance(part, ast.Assign) and _is_empty(origin, part.value):
                    _write(node, part)
    located(origin.tree)


def _is_empty(origin: Origin, value: ast.expr) -> bool:
    match value:
        case ast.Call(args=[] | [ast.List(elts=[])], keywords=[]):
            return origin.qualified(value.func) == _LIST
    return False


def _write(function: ast.FunctionDef, begun: ast.Assign) -> None:
    match begun.targets:
        case [ast.Name(id=local)]:
            pass
        case _:
            return
    made = begun.value
    assert isinstance(made, ast.Call)
    ends = [
        part
        for part in walk(function)
        if isinstance(part, ast.Assign | ast.Return)
        and part.value is not None
        and is_name(part.value, local)
    ]
    if not ends:
        return
    for part in ends:
        part.value = ast.Call(made.func, [ast.Name(local, ast.Load())], [])
    begun.value = ast.List([], ast.Load())
