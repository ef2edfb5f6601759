"""Functions that a local is one of, `f = F.log_softmax if logs else F.softmax`, where they are called."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_chosen_functions(origin: Origin) -> None:
    """Write the choice at each call, in place, where the local is bound once and only called."""
    if not origin.uses("torch"):
        return
    for node in walk(origin.tree):
        if isinstance(node, ast.FunctionDef):
            for statement in list(node.body):
                _written(origin, node, statement)
    located(origin.tree)


def _written(origin: Origin, function: ast.FunctionDef, statement: ast.stmt) -> None:
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=local)],
            value=ast.IfExp(body=first, orelse=second) as chosen,
        ) if _is_function(origin, first) and _is_function(origin, second):
            uses = [p for p in walk(function) if is_name(p, local)]
            calls = [
                p
                for p in walk(function)
                if isinstance(p, ast.Call) and is_name(p.func, local)
            ]
            if len(uses) == len(calls) + 1:
                function.body.remove(statement)
                _Calls(local, chosen).visit(function)


def _is_function(origin: Origin, node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and bool(origin.qualified(node))


class _Calls(NodeTransformer):
    def __init__(self, local: str, chosen: ast.IfExp):
        self.local, self.chosen = local, chosen

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not is_name(node.func, self.local):
            return node
        sides = [
            ast.Call(cloned(f), cloned(node.args), node.keywords)
            for f in (self.chosen.body, self.chosen.orelse)
        ]
        made = ast.IfExp(cloned(self.chosen.test), *sides)
        return ast.copy_location(made, node)
