"""Functions of a file of PyTorch that draw, as methods of the classes that call them, which have keys."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.kinds import framework_of
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import names
from mlax_scaffold.conversion.source.vocabulary import TRAINING
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)

_DRAWS = ("rand", "randn", "rand_like", "randn_like", "bernoulli", "dropout")
_METHODS = ("bernoulli_", "uniform_", "normal_", "bernoulli")


def without_drawing_functions(origin: Origin) -> None:
    """Give each class the functions that draw and that it calls, in place."""
    drawing = {n for n, f in origin.functions.items() if _draws(origin, f)}
    while True:
        more = {
            n for n, f in origin.functions.items() if n not in drawing and names(f) & drawing
        }  # fmt: skip
        if not more:
            break
        drawing |= more
    for node in origin.classes.values():
        if framework_of(origin, node) == "torch" and node.name not in origin.copied:
            _taken(origin, node, drawing)


def _draws(origin: Origin, function: ast.FunctionDef) -> bool:
    for part in walk(function):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            full = origin.qualified(part.func)
            if full.startswith("torch.") and full.rpartition(".")[2] in _DRAWS:
                return True
            if not full and part.func.attr in _METHODS:
                return True
    return False


def _taken(origin: Origin, node: ast.ClassDef, drawing: set[str]) -> None:
    own = {getattr(m, "name", "") for m in node.body}
    while True:
        methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
        called = {
            part.func.id
            for method in methods
            if method.name != "__init__"
            for part in walk(method)
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
        }
        wanted = sorted((called & drawing) - own)
        if not wanted:
            return
        for title in wanted:
            own.add(title)
            made = cloned(origin.functions[title])
            made.args.args.insert(0, ast.arg("self"))
            made.decorator_list = []
            node.body.append(made)
        calls = _Calls(origin, set(wanted))
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                calls.visit(method)
        located(node)


class _Calls(NodeTransformer):
    def __init__(self, origin: Origin, wanted: set[str]):
        self.origin, self.wanted = origin, wanted

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in self.wanted:
            return node
        function = self.origin.functions[node.func.id]
        # The mode is that of the layer: methods are not told of it.
        at = [i for i, a in enumerate(function.args.args) if a.arg in TRAINING]
        node.args = [a for i, a in enumerate(node.args) if i not in at]
        node.keywords = [k for k in node.keywords if k.arg not in TRAINING]
        made = ast.Attribute(ast.Name("self", ast.Load()), node.func.id, ast.Load())
        node.func = ast.copy_location(made, node.func)
        return node
