"""`return y` becomes `return y, non_trainables`; of a layer without state, `return y, None`."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import OuterTransformer, element, expression


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if not context.changes:
        return function
    appended = "non_trainables" if context.stateful else "None"
    return cst.ensure_type(function.visit(Returns(appended)), cst.FunctionDef)


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
