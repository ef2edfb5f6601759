"""Conditional expressions that choose what a statement does become statements that do.

`y = y if c else f(y)` assigns where it changes something, and `return a if c else b` returns in two places.
What one of two values changes a state for is assigned in two places, too.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.closures import STATE, takes
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    OuterTransformer,
    code,
    comments_in,
    expression,
    local_names,
    negated,
    operand,
    self_attribute,
    statement,
)
from mlax_scaffold.rewrite.traversal import parts


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if " if " not in code(function.body):
        return function
    return cst.ensure_type(function.visit(_Branches(context)), cst.FunctionDef)


class _Branches(OuterTransformer):
    def __init__(self, context: Context):
        super().__init__()
        self.context = context
        self.variables: set[str] = set()
        """Those of loops over layers that change states."""

    def visit_For(self, node: cst.For) -> None:
        if self._over_renewed(node.iter):
            self.variables |= local_names(node.target)

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        match updated_node.body:
            case [
                cst.Assign(value=cst.IfExp() as chosen)
                | cst.AugAssign(value=cst.IfExp() as chosen)
                | cst.AnnAssign(value=cst.IfExp() as chosen)
            ]:
                made = _assignment(updated_node.body[0], chosen)
                if not made and self._changes(chosen):
                    made = _assignments(updated_node.body[0], chosen)
            case [cst.Return(value=cst.IfExp() as chosen)]:
                # The states that are returned beside it would put it in parentheses.
                beside = not self.nested or self._changes(chosen)
                made = _returns(chosen) if beside else []
            case _:
                return updated_node
        said = comments_in(chosen)
        if not made or (said and not self._changes(chosen)):
            return updated_node
        lines = list(updated_node.leading_lines)
        comment = updated_node.trailing_whitespace.comment
        lines += [cst.EmptyLine(comment=cst.Comment(text)) for text in said]
        if comment is not None:
            lines.append(cst.EmptyLine(comment=comment))
        first, *rest = made
        return cst.FlattenSentinel([first.with_changes(leading_lines=lines), *rest])

    def _changes(self, node: cst.CSTNode) -> bool:
        """Whether a call in it makes new states, or a loop over layers of a comprehension."""
        return any(
            (isinstance(p, cst.Call) and self._renews(p))
            or (isinstance(p, cst.CompFor) and self._over_renewed(p.iter))
            for p in parts(node)
        )

    def _over_renewed(self, iterated: cst.CSTNode) -> bool:
        names = (self_attribute(p) for p in parts(iterated))
        return any(name and self.context.renews(name) for name in names)

    def _renews(self, call: cst.Call) -> bool:
        called = call.func
        while isinstance(called, cst.Subscript):
            called = called.value
        name = self_attribute(called)
        variable = isinstance(called, cst.Name) and called.value in self.variables
        return (
            variable
            or takes(call, STATE)
            or (name is not None and self.context.renews(name))
        )


def _assignment(assigning: cst.BaseSmallStatement, chosen: cst.IfExp) -> list[cst.If]:
    """The `if` around an assignment, one of whose values is what the name has; else nothing."""
    match assigning:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            pass
        case _:
            return []
    match chosen.body, chosen.orelse:
        case cst.Name(value=kept), other if kept == name:
            test = negated(chosen.test)
        case other, cst.Name(value=kept) if kept == name:
            test = code(_bare(chosen.test))
        case _:
            return []
    return [_if(test, f"{name} = {operand(_bare(other))}")]


def _assignments(assigning: cst.BaseSmallStatement, chosen: cst.IfExp) -> list[cst.If]:
    """An assignment in each branch."""

    def branch(value: cst.BaseExpression) -> str:
        part = expression(operand(_bare(value)))
        return code(assigning.with_changes(value=part))

    made = _if(code(_bare(chosen.test)), branch(chosen.body))
    if isinstance(chosen.orelse, cst.IfExp):
        return [made.with_changes(orelse=_assignments(assigning, chosen.orelse)[0])]
    body = statement(f"if x:\n    {branch(chosen.orelse)}\n")
    other = cst.ensure_type(body, cst.If).body
    return [made.with_changes(orelse=cst.Else(body=other))]


def _returns(chosen: cst.IfExp) -> list[cst.If | cst.BaseStatement]:
    """Statements that return what an expression chooses."""
    first = _if(code(_bare(chosen.test)), f"return {operand(_bare(chosen.body))}")
    if isinstance(chosen.orelse, cst.IfExp):
        return [first, *_returns(chosen.orelse)]
    return [first, statement(f"return {operand(_bare(chosen.orelse))}")]


def _if(test: str, then: str) -> cst.If:
    return cst.ensure_type(statement(f"if {test}:\n    {then}\n"), cst.If)


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """An expression without the parentheses around all of it, where it is on one line."""
    if not node.lpar or "\n" in code(node) or isinstance(node, cst.Tuple):
        return node
    return node.with_changes(lpar=[], rpar=[])
