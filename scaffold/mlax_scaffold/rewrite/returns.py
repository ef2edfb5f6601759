"""`return y` becomes `return y, non_trainables`."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import OuterTransformer, element, expression


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    return cst.ensure_type(function.visit(Returns("non_trainables")), cst.FunctionDef)


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
        assert updated_node.value is not None
        text = element(updated_node.value)
        return updated_node.with_changes(
            value=expression(f"{text}, {self.appended}"),
            whitespace_after_return=cst.SimpleWhitespace(" "),
        )
