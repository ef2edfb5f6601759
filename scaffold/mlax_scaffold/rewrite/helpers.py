"""The functions, constants and small classes beside a definition, as they stand in the generated module."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Definition, Helper, Method, MethodRole
from mlax_scaffold.rewrite import requirements
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.layout import normalized
from mlax_scaffold.rewrite.nodes import (
    code,
    expression,
    missing_comments,
    with_comments,
)
from mlax_scaffold.rewrite.nodes import statement as parsed_statement
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite_helpers(definition: Definition) -> str:
    """The helpers that its module has, with their comments; empty where it has none."""
    helpers = {helper.name: helper for helper in definition.helpers if not helper.home}
    if not helpers:
        return ""
    kept: list[cst.SimpleStatementLine | cst.BaseCompoundStatement] = []
    for statement in normalized(definition.core).body:
        helper = helpers.get(_name(statement))
        if helper is not None and isinstance(statement, cst.FunctionDef):
            kept.append(_function(statement, helper, definition))
        elif helper is not None and isinstance(statement, cst.ClassDef):
            fields = statement.visit(_Fields(dict(helper.types)))
            kept.append(cst.ensure_type(fields, cst.ClassDef))
        elif helper is not None and isinstance(statement, cst.SimpleStatementLine):
            rule = helper.kind == "rule"
            kept.append(statement if rule else _as_function(statement))
    return cst.Module(body=kept).code.strip("\n") + "\n"


def _name(statement: cst.BaseStatement) -> str:
    match statement:
        case cst.FunctionDef(name=cst.Name(value=name)):
            return name
        case cst.ClassDef(name=cst.Name(value=name)):
            return name
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))])
                | cst.AnnAssign(target=cst.Name(value=name))
            ]
        ):
            return name
        case cst.SimpleStatementLine(
            body=[
                cst.Expr(
                    value=cst.Call(
                        func=cst.Attribute(
                            value=cst.Name(value=name), attr=cst.Name("defvjp")
                        )
                    )
                )
            ]
        ):
            return f"{name}.defvjp"
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


def _as_function(
    statement: cst.SimpleStatementLine,
) -> cst.SimpleStatementLine | cst.FunctionDef:
    """A constant; one that is a lambda is a function, which says its name."""
    match statement.body:
        case [cst.Assign(targets=[target], value=cst.Lambda() as function)]:
            name = cst.ensure_type(target.target, cst.Name)
        case [cst.AnnAssign(target=cst.Name() as name, value=cst.Lambda() as function)]:
            pass
        case _:
            return statement
    text = (
        f"def {name.value}({code(function.params)}):\n    return {code(function.body)}"
    )
    made = cst.ensure_type(parsed_statement(text), cst.FunctionDef)
    comments = missing_comments(statement, [made])
    return with_comments(made, comments)


class _Fields(Transformer):
    """The types of the fields of a class become those of the generated module."""

    def __init__(self, types: dict[str, str]):
        super().__init__()
        self.types = types

    def leave_AnnAssign(
        self, original_node: cst.AnnAssign, updated_node: cst.AnnAssign
    ) -> cst.AnnAssign:
        match updated_node.target:
            case cst.Name(value=name) if name in self.types:
                annotation = cst.Annotation(expression(self.types[name]))
                return updated_node.with_changes(annotation=annotation)
        return updated_node


class _Types(Transformer):
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
