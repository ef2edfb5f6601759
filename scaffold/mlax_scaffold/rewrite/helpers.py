"""The functions and constants beside a definition, as they stand in the generated module."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Definition, Helper, Method, MethodRole
from mlax_scaffold.rewrite import requirements
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.layout import normalized
from mlax_scaffold.rewrite.nodes import expression


def rewrite_helpers(definition: Definition) -> str:
    """The helpers that a definition uses, with their comments; empty where it has none."""
    if not definition.helpers:
        return ""
    helpers = {helper.name: helper for helper in definition.helpers}
    kept: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = []
    for statement in normalized(definition.text).body:
        helper = helpers.get(_name(statement))
        if helper is not None and isinstance(statement, cst.FunctionDef):
            kept.append(_function(statement, helper, definition))
        elif helper is not None:
            kept.append(statement)
    return cst.Module(body=kept).code.strip("\n") + "\n"


def _name(statement: cst.BaseStatement) -> str:
    match statement:
        case cst.FunctionDef(name=cst.Name(value=name)):
            return name
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))])
                | cst.AnnAssign(target=cst.Name(value=name))
            ]
        ):
            return name
    return ""


def _function(
    function: cst.FunctionDef, helper: Helper, definition: Definition
) -> cst.FunctionDef:
    method = Method(helper.name, MethodRole.HYPER, names=helper.names)
    function = requirements.rewrite(function, Context(definition, method, {}))
    types = dict(helper.types)
    if not types:
        return function
    params = function.params.visit(_Types(types))
    function = function.with_changes(params=params)
    if "return" in types:
        returns = cst.Annotation(expression(types["return"]))
        function = function.with_changes(returns=returns)
    return function


class _Types(cst.CSTTransformer):
    def __init__(self, types: dict[str, str]):
        super().__init__()
        self.types = types

    def leave_Param(
        self, original_node: cst.Param, updated_node: cst.Param
    ) -> cst.Param:
        text = self.types.get(updated_node.name.value)
        if text is None:
            return updated_node
        annotation = cst.Annotation(expression(text))
        return updated_node.with_changes(annotation=annotation)
