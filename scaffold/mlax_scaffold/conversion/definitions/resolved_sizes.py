"""Statements of a definition, once it is known what each symbol of a size is."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.shapes.size_equations import is_symbol
from mlax_scaffold.conversion.shapes.sizes import Symbols
from mlax_scaffold.conversion.source.library import tidied
from mlax_scaffold.conversion.source.loop_parts import unnumbered
from mlax_scaffold.conversion.source.trees import is_layer, names
from mlax_scaffold.conversion.source.walking import NodeTransformer, cloned


class Resolve(NodeTransformer):
    """Sizes in the place of symbols, and what is plainer with them."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return cloned(self.symbols.find(node)) if is_symbol(node) else node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        self.generic_visit(node)
        generator = node.generators[0]
        made = node.elt
        one = len(node.generators) == 1
        if one and isinstance(made, ast.Call) and is_layer(made):
            unnumbered(generator, names(made))
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Compare(
                left=ast.IfExp(
                    test=ast.Compare(left=part, ops=[ast.Is()]),
                    body=ast.Constant(value=None),
                ),
                ops=[ast.Is() | ast.IsNot()],
                comparators=[ast.Constant(value=None)],
            ):
                # `(None if a is None else f(a)) is None`
                node.left = part
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id.startswith(
            ("@layer:", "@word:")
        ):
            return tidied(node)
        return node
