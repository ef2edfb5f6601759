"""`require(condition, message)` becomes a check that says whose it is, and what was given.

One of True is left out. An `if` of the spec that raises a ValueError stays, and its error names the layer,
too.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.arrays import KINDS
from mlax_scaffold.model.definition import Input
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    code,
    expression,
    is_loose,
    local_names,
    missing_comments,
    self_attribute,
    statement,
    with_comments,
)
from mlax_scaffold.rewrite.traversal import Transformer, Visitor

_TEXTS = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not {"require", "ValueError"} & context.method.names:
        return function
    function = cst.ensure_type(function.visit(_Require(context)), cst.FunctionDef)
    if function.body.body:
        return function
    return function.with_changes(body=cst.IndentedBlock([statement("pass")]))


class _Require(Transformer):
    def __init__(self, context: Context):
        super().__init__()
        self.context = context

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.RemovalSentinel:
        match updated_node.body:
            case [
                cst.Expr(
                    value=cst.Call(
                        func=cst.Name("require"), args=[cst.Arg(cst.Name("True")), _]
                    )
                )
            ] if not missing_comments(updated_node, []):
                return cst.RemoveFromParent()
            case [cst.Expr(value=cst.Call(func=cst.Name("require")) as call)]:
                condition, message = (argument.value for argument in call.args)
                new = statement(
                    f"checks.require({self._arguments(condition, message)})\n"
                )
                new = new.with_changes(leading_lines=updated_node.leading_lines)
                trailing = updated_node.trailing_whitespace
                if trailing.comment is not None:
                    new = new.with_changes(trailing_whitespace=trailing)
                return with_comments(new, missing_comments(updated_node, [new]))
        return updated_node

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        match updated_node.body:
            case (
                cst.IndentedBlock(
                    body=[
                        cst.SimpleStatementLine(body=[cst.Raise(cause=None) as raised])
                    ]
                )
                | cst.SimpleStatementSuite(body=[cst.Raise(cause=None) as raised])
            ):
                pass
            case _:
                return updated_node
        match raised.exc:
            case cst.Call(
                func=cst.Name("ValueError"),
                args=[cst.Arg(value=message, keyword=None, star="")],
            ) if isinstance(message, _TEXTS):
                arguments = self._arguments(updated_node.test, message, tested=False)
                error = expression(f"checks.requirement({arguments})")
                new = updated_node.deep_replace(raised, raised.with_changes(exc=error))
                return cst.ensure_type(new, cst.If)
        return updated_node

    def _arguments(
        self,
        condition: cst.BaseExpression,
        message: cst.BaseExpression,
        tested: bool = True,
    ) -> str:
        """Whose requirement it is, what it says, and what was given.

        A message with values in it says itself what was given.
        """
        formatted = isinstance(message, cst.FormattedString) or (
            isinstance(message, cst.ConcatenatedString)
            and message.evaluated_value is None
        )
        given = [] if formatted else self._given(condition)
        text = code(condition)
        holds = [f"({text})" if is_loose(condition) else text] if tested else []
        owner = repr(self.context.definition.name)
        return ", ".join([owner, *holds, code(message), *given])

    def _has_shape(self, array: Input) -> bool:
        """Whether an input is sure to be an array where the requirement does not hold."""
        kind = array.type
        bound = array.name in self.context.method.bound
        return kind.kind in KINDS and not kind.optional and not bound

    def _given(self, condition: cst.BaseExpression) -> list[str]:
        """The values that the message shows: the hyperparameters that the condition reads."""
        structural = set(self.context.definition.structural())
        known = {
            h.name
            for h in self.context.definition.hyperparameters
            if h not in structural
        }
        found: dict[str, str] = {}

        class Reads(Visitor):
            def visit_Attribute(self, node: cst.Attribute) -> None:
                name = self_attribute(node)
                if name in known:
                    found[name] = code(node)

            def visit_Name(self, node: cst.Name) -> None:
                # The hyperparameters of a function are plain names.
                if node.value in known:
                    found.setdefault(node.value, node.value)

        condition.visit(Reads())
        read = local_names(condition)
        for array in self.context.inputs:
            if array.name in read and self._has_shape(array):
                found[array.name] = f"{array.name}.shape"
        return [f"{name}={text}" for name, text in found.items()]
