"""Requirements that hold whatever is given, `require(True, "...")`: they say nothing of a spec."""

from __future__ import annotations

import ast
from dataclasses import replace

from mlax_scaffold.conversion.output.description import Described, SpecText
from mlax_scaffold.conversion.source.trees import is_name
from mlax_scaffold.conversion.source.walking import NodeTransformer


def without_held_requirements(spec: SpecText) -> SpecText:
    """A spec without them; in functions they are taken out in place."""
    for part in spec.beside:
        _Held().visit(part)
    found = []
    for definition in spec.definitions:
        if isinstance(definition, Described):
            kept = (_Held().visit(statement) for statement in definition.setup)
            for method in definition.methods:
                _Held().visit(method)
            found.append(replace(definition, setup=tuple(s for s in kept if s)))
        else:
            _Held().visit(definition.node)
            found.append(definition)
    return replace(spec, definitions=tuple(found))


class _Held(NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        match node.value:
            case ast.Call(func=function, args=[ast.Constant(value=True), _]) if is_name(
                function, "@word:require"
            ):
                return None
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        if isinstance(node, ast.FunctionDef | ast.If | ast.For) and not node.body:
            node.body = [ast.Pass()]
        return node
