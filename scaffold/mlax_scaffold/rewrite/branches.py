"""Conditional expressions that choose what a statement does become statements that do.

`y = y if c else f(y)` assigns where it changes something, and `return a if c else b` returns in two places.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    code,
    comments_in,
    negated,
    statement,
)
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if " if " not in code(function.body):
        return function
    return cst.ensure_type(function.visit(_Branches()), cst.FunctionDef)


class _Branches(Transformer):
    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        match updated_node.body:
            case [
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name(value=name))],
                    value=cst.IfExp() as chosen,
                )
            ]:
                made = _assignment(name, chosen)
            case [cst.Return(value=cst.IfExp() as chosen)]:
                made = _returns(chosen)
            case _:
                return updated_node
        if not made or comments_in(chosen):
            return updated_node
        lines = list(updated_node.leading_lines)
        comment = updated_node.trailing_whitespace.comment
        if comment is not None:
            lines.append(cst.EmptyLine(comment=comment))
        first, *rest = made
        return cst.FlattenSentinel([first.with_changes(leading_lines=lines), *rest])


def _assignment(name: str, chosen: cst.IfExp) -> list[cst.If]:
    """The `if` around an assignment, one of whose values is what the name has; else nothing."""
    match chosen.body, chosen.orelse:
        case cst.Name(value=kept), other if kept == name:
            test = negated(chosen.test)
        case other, cst.Name(value=kept) if kept == name:
            test = code(_bare(chosen.test))
        case _:
            return []
    return [_if(test, f"{name} = {code(_bare(other))}")]


def _returns(chosen: cst.IfExp) -> list[cst.If | cst.BaseStatement]:
    """Statements that return what an expression chooses."""
    first = _if(code(_bare(chosen.test)), f"return {code(_bare(chosen.body))}")
    if isinstance(chosen.orelse, cst.IfExp):
        return [first, *_returns(chosen.orelse)]
    return [first, statement(f"return {code(_bare(chosen.orelse))}")]


def _if(test: str, then: str) -> cst.If:
    return cst.ensure_type(statement(f"if {test}:\n    {then}\n"), cst.If)


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression without the parentheses around all of it, where it is on one line."""
    if not node.lpar or "\n" in code(node) or isinstance(node, cst.Tuple):
        return node
    return node.with_changes(lpar=[], rpar=[])
