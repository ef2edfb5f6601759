"""`return y` becomes `return y, non_trainables`; of a layer without state, `return y, None`.

A method that returns nothing returns None beside its states.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import OuterTransformer, element, expression, statement


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.changes:
        return function
    appended = "non_trainables" if context.stateful else "None"
    function = cst.ensure_type(function.visit(Returns(appended)), cst.FunctionDef)
    return ended(function, appended)


def ended(function: cst.FunctionDef, appended: str) -> cst.FunctionDef:
    """A function that returns None beside a name where it comes to its end."""
    if _returns(function.body):
        return function
    last = statement(f"return None, {appended}")
    if isinstance(function.body, cst.SimpleStatementSuite):
        line = cst.SimpleStatementLine(function.body.body)
        return function.with_changes(body=cst.IndentedBlock([line, last]))
    body = function.body.with_changes(body=[*function.body.body, last])
    return function.with_changes(body=body)


def _returns(body: cst.BaseSuite) -> bool:
    """Whether every path through a block returns or raises."""
    match body.body[-1]:
        case cst.SimpleStatementLine(body=[*_, cst.Return() | cst.Raise()]):
            return True
        case cst.Return() | cst.Raise():
            return True
        case cst.If(body=then, orelse=otherwise):
            return _returns(then) and otherwise is not None and _otherwise(otherwise)
        case cst.With(body=inner):
            return _returns(inner)
        case cst.Match(cases=cases):
            return all(_returns(case.body) for case in cases) and _is_any(cases[-1])
    return False


def _otherwise(node: cst.If | cst.Else) -> bool:
    if isinstance(node, cst.Else):
        return _returns(node.body)
    return _returns(node.body) and node.orelse is not None and _otherwise(node.orelse)


def _is_any(case: cst.MatchCase) -> bool:
    """Whether a case takes whatever the others do not."""
    return isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None


class Returns(OuterTransformer):
    """Appends a name to what the function itself returns."""

    def __init__(self, appended: str):
        super().__init__()
        self.appended = appended

    def leave_Return(
        self, original_node: cst.Return, updated_node: cst.Return
    ) -> cst.Return:
        if self.nested:
            return updated_node
        value = updated_node.value
        text = "None" if value is None else element(value)
        return updated_node.with_changes(
            value=expression(f"{text}, {self.appended}"),
            whitespace_after_return=cst.SimpleWhitespace(" "),
        )
