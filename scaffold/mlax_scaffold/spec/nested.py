"""Hands the functions inside of a method of an eager layer their keys, and the states that they change."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from mlax_scaffold.reader.closures import Called
from mlax_scaffold.reader.constructs import functions_of, lifted
from mlax_scaffold.reader.numbering import Numbering


class NestedRoutes(ast.NodeTransformer):
    """Routes such functions, and what calls them, to the eager layer: see `threads`."""

    def __init__(self, found: Numbering, declared: Mapping[str, Any]) -> None:
        self.found = found
        self.declared = declared
        self.lifted: dict[int, str] = {}
        """How functions become such that are called like those beside them."""

    def visit(self, node: ast.AST) -> Any:
        lifted = self.lifted.pop(id(node), None)
        new = super().visit(node)
        return new if lifted is None else routed(new, lifted, [new], [])

    def run(self, node: ast.Call, run: Called) -> ast.expr:
        """A call that runs functions which draw or change states, or that makes one."""
        number = ast.Constant(self.found.numbers.get(id(node)))
        changes = ast.Constant(run.effect.changes)
        made, function = run.construct, node.func
        for argument, effect in zip(
            functions_of(node, made), run.functions, strict=True
        ):
            if lift := lifted(effect, run.effect):
                self.lifted[id(argument)] = f"_{lift}_"
        self.generic_visit(node)
        if made is None:
            arguments = [number, changes, node.func, *node.args]
            return routed(node, "_run_function_", arguments, node.keywords)
        if not made.name:
            return node
        if made.name in ("bound", "applied"):
            node.args = [function, *node.args]
        name = ast.Constant(made.name)
        if made.makes:
            threads = [ast.keyword("threads", changes)] if run.effect.changes else []
            return routed(
                node, "_made_", [name, *node.args], [*node.keywords, *threads]
            )
        arguments = [name, number, changes, *node.args]
        return routed(node, "_run_construct_", arguments, node.keywords)

    def visit_While(self, node: ast.While) -> Any:
        """A loop whose passes draw is one over them, which ends where the test says so.

        A name that the test binds is one of the method: the body asks then, and what is in `else` follows.
        """
        places = self.found.passes.get(id(node))
        number = self.found.numbers.get(id(node))
        self.generic_visit(node)
        if places is None:
            return node
        binds = any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test))
        asks = ast.parse("lambda: True", mode="eval").body
        assert isinstance(asks, ast.Lambda)
        if not binds:
            asks.body = node.test
        given: list[Any] = [ast.Constant(number), ast.Constant(places), asks]
        turns = routed(node.test, "_turns_", given, [])
        turn = ast.Name("_turn_", ast.Store())
        loop = ast.For(turn, turns, node.body, node.orelse)
        if not binds:
            return ast.copy_location(loop, node)
        ended = f"_ended_{node.lineno}_"
        before, ends = (ast.parse(f"{ended} = {value}").body for value in (False, True))
        over = ast.UnaryOp(ast.Not(), node.test)
        loop.body = [ast.If(over, [*ends, ast.Break()], []), *node.body]
        loop.orelse = []
        after = [ast.If(ast.Name(ended, ast.Load()), node.orelse, [])]
        made = [*before, loop, *(after if node.orelse else [])]
        return [ast.copy_location(statement, node) for statement in made]

    def _function(self, node: ast.Lambda | ast.FunctionDef) -> Any:
        """A function that draws or changes states is given its key, and them."""
        effect = self.found.closures.functions.get(id(node))
        self.generic_visit(node)
        if not effect:
            return node
        given = [
            ast.Constant(self.found.passes[id(node)]),
            ast.Constant(effect.changes),
        ]
        place = ast.copy_location(ast.Name("self", ast.Load()), node)
        made = routed(place, "_function_", given, [])
        if isinstance(node, ast.Lambda):
            return ast.copy_location(ast.Call(made, [node], []), node)
        node.decorator_list.append(made)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return self._function(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self._function(node)


def routed(
    place: ast.expr, name: str, args: list[Any], keywords: list[ast.keyword]
) -> ast.Call:
    """A call of a method of self in the place of another node."""
    function = ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())
    return ast.copy_location(ast.Call(function, args, keywords), place)
