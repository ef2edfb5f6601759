"""Functions of PyTorch that make sequences which stand in lists, as classes.

def FeedForward(dim, mult=4):                    class FeedForward(nn.Sequential):
    inner = dim * mult                               def __init__(self, dim, mult=4):
    return nn.Sequential(                                inner = dim * mult
        nn.Linear(dim, inner), nn.Linear(inner, dim)     super().__init__(
    )                                                        nn.Linear(dim, inner), nn.Linear(inner, dim)
                                                         )
self.layers.append(nn.ModuleList([Attention(dim), FeedForward(dim)]))
"""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import without_docstring
from mlax_scaffold.conversion.source.walking import cloned, located, walk

_SEQUENCE = "torch.nn.Sequential"
_LIST = "torch.nn.ModuleList"


def with_classes_of_makers(origin: Origin, thing: str) -> None:
    """Write such functions as classes, in place, but for what is converted."""
    listed = {
        item.func.id
        for part in walk(origin.tree)
        if isinstance(part, ast.Call) and origin.qualified(part.func) == _LIST
        for given in part.args
        if isinstance(given, ast.List | ast.Tuple)
        for item in given.elts
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name)
    }
    made = False
    for title in listed & {*origin.functions} - {thing}:
        function = origin.functions[title]
        node = _as_class(origin, function)
        if node is not None and function in origin.tree.body:
            body = origin.tree.body
            body[body.index(function)] = node
            made = True
    if made:
        origin.forget("classes", "functions", "assigned")
        located(origin.tree)


def _as_class(origin: Origin, function: ast.FunctionDef) -> ast.ClassDef | None:
    """The class; None where the function does more than to compute sizes and make the sequence."""
    given = function.args
    if given.vararg or given.kwarg or function.decorator_list:
        return None
    *before, last = without_docstring(function.body)
    match last:
        case ast.Return(value=ast.Call(func=func, keywords=[]) as call):
            if origin.qualified(func) != _SEQUENCE:
                return None
        case _:
            return None
    if not all(isinstance(part, ast.Assign | ast.Assert) for part in before):
        return None
    [node] = ast.parse(
        f"class {function.name}(Base):\n    def __init__(self):\n        super().__init__()\n"
    ).body
    assert isinstance(node, ast.ClassDef)
    [start] = node.body
    assert isinstance(start, ast.FunctionDef)
    node.bases = [cloned(call.func)]
    start.args = cloned(given)
    start.args.args.insert(0, ast.arg("self"))
    [begun] = start.body
    begun.value.args = call.args  # type: ignore[attr-defined]
    start.body = [*before, begun]
    for part in walk(node):
        if "lineno" not in vars(part) or part in (node, start, begun):
            ast.copy_location(part, last if part is begun else function)
    return node
