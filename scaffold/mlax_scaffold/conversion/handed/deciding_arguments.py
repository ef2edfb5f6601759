"""Functions that make layers under conditions on what they are given, one for each case that is called.

def mlp(size, norm=True):                    def mlp_case_1(size, norm=True):
    net = hk.nets.MLP([size])                    net = hk.nets.MLP([size])
    if norm:                       becomes       return hk.Sequential([net, hk.LayerNorm(-1)])
        return hk.Sequential([net, ...])     def mlp_case_2(size, norm=True):
    return net                                   net = hk.nets.MLP([size])
                                                 return net
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from mlax_scaffold.conversion.handed.layer_functions import bound_arguments
from mlax_scaffold.conversion.source.decided import Decided
from mlax_scaffold.conversion.source.known_values import Known
from mlax_scaffold.conversion.source.origin import Origin
from mlax_scaffold.conversion.source.trees import literal, names
from mlax_scaffold.conversion.source.walking import (
    NodeTransformer,
    cloned,
    located,
    walk,
)


def without_deciding_arguments(
    origin: Origin, making: Mapping[str, ast.FunctionDef]
) -> dict[str, ast.FunctionDef]:
    """Call such functions so, in place; those that are called then, by name.

    Args:
        origin: the file.
        making: functions of it that make layers.
    """
    apart = _Apart({n: f for n, f in making.items() if _asked(f)})
    for node in origin.tree.body:
        apart.visit(node)
    origin.tree.body += apart.made.values()
    if apart.made:
        origin.forget("functions")
    return apart.made


def _asked(function: ast.FunctionDef) -> list[str]:
    """The parameters that conditions of a function read."""
    given = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    tests = [p.test for p in walk(function) if isinstance(p, ast.If)]
    read = {n for test in tests for n in names(test)}
    return [g for g in given if g in read]


class _Apart(NodeTransformer):
    """Calls one function for each case."""

    def __init__(self, known: Mapping[str, ast.FunctionDef]):
        self.known = known
        self.made: dict[str, ast.FunctionDef] = {}
        self.cases: dict[tuple[str, str], str] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        title = node.func.id if isinstance(node.func, ast.Name) else ""
        function = self.known.get(title)
        given = bound_arguments(function, node) if function is not None else None
        if function is None or given is None:
            return node
        told = {n: given[n] for n in _asked(function)}
        if any(literal(value) is value for value in told.values()):
            return node
        case = title, ", ".join(map(ast.unparse, told.values()))
        if case not in self.cases:
            made = _decided(function, told)
            if made is None:
                return node
            count = sum(t == title for t, _ in self.cases) + 1
            made.name = f"{title}_case_{count}"
            self.cases[case] = made.name
            self.made[made.name] = made
        node.func = ast.copy_location(ast.Name(self.cases[case], ast.Load()), node.func)
        return node


def _decided(
    function: ast.FunctionDef, told: Mapping[str, ast.expr]
) -> ast.FunctionDef | None:
    """The function in one case, up to its first return; None where conditions are left."""
    made = cloned(function)
    body: list[ast.stmt] = []
    for part in Decided(Known({}, {})).statements(
        [_Told(told).visit(s) for s in made.body]
    ):
        body.append(part)
        if isinstance(part, ast.Return):
            break
    made.body = body
    left = any(isinstance(p, ast.If) for p in walk(made))
    return None if left else located(made)


class _Told(NodeTransformer):
    """Writes what is told in conditions alone."""

    def __init__(self, told: Mapping[str, ast.expr]):
        self.told = told

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        node.test = Known(dict(self.told), {}).value(node.test)
        return node
