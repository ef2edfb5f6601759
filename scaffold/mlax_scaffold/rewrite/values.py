"""A schedule whose value only comparisons of the step decide, `0.1**sum(step > m)`, has the step's dtype."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import OuterTransformer, code, expression, local_names
from mlax_scaffold.rewrite.traversal import Visitor

_INTEGERS = ("digitize", "searchsorted")
"""Functions that tell where the step is, as an integer."""


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    if context.method.name != "value":
        return function
    return cst.ensure_type(function.visit(_Values()), cst.FunctionDef)


class _Values(OuterTransformer):
    """Casts what is returned, where no number in it is computed of the step."""

    def __init__(self) -> None:
        super().__init__()
        self.computed = {"step", "step_number"}
        self.constant: set[str] = set()
        """Locals that a statement binds to what is not computed of it: a loop without a pass leaves that."""

    def visit_Assign(self, node: cst.Assign) -> None:
        names = {name for target in node.targets for name in local_names(target.target)}
        if _reads(node.value, self.computed - self.constant):
            self.computed |= names
        else:
            self.constant |= names

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if isinstance(node.target, cst.Name) and _reads(node.value, self.computed):
            self.computed.add(node.target.value)

    def leave_Return(
        self, original_node: cst.Return, updated_node: cst.Return
    ) -> cst.Return:
        value = updated_node.value
        if self.nested or value is None:
            return updated_node
        if _reads(value, self.computed - self.constant):
            return updated_node
        return updated_node.with_changes(
            value=expression(f"jnp.asarray({code(value)}, step.dtype)"),
            whitespace_after_return=cst.SimpleWhitespace(" "),
        )


def _reads(node: cst.CSTNode, names: set[str]) -> bool:
    """Whether numbers of some names are in what is computed: comparisons tell of them, and no more."""
    found = False

    class Names(Visitor):
        def visit_Comparison(self, node: cst.Comparison) -> bool:
            return False

        def visit_IfExp(self, node: cst.IfExp) -> bool:
            nonlocal found
            found |= _reads(node.body, names) and _reads(node.orelse, names)
            return False

        def visit_Call(self, node: cst.Call) -> bool:
            return code(node.func).rpartition(".")[2] not in _INTEGERS

        def visit_Name(self, node: cst.Name) -> None:
            nonlocal found
            found |= node.value in names

        def visit_Attribute(self, node: cst.Attribute) -> bool:
            if node.attr.value not in ("ndim", "shape"):
                node.value.visit(self)
            return False

    node.visit(Names())
    return found
