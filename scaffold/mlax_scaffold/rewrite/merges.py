"""Adjacent replacements of `non_trainables` become one, where the second reads nothing of the first."""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import code, comments_in
from mlax_scaffold.rewrite.traversal import Transformer, parts


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    stateful = any(traits.stateful for traits in context.traits.values())
    if not (stateful or context.dynamic or context.declared(Role.STATE)):
        return function
    return cst.ensure_type(function.visit(_Merge()), cst.FunctionDef)


class _Merge(Transformer):
    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body: list[cst.BaseStatement] = []
        for item in updated_node.body:
            merged = _merged(body[-1], item) if body else None
            if merged is None:
                body.append(item)
            else:
                body[-1] = merged
        return updated_node.with_changes(body=body)


def _merged(first: cst.BaseStatement, second: cst.BaseStatement):
    before, after = _replacement(first), _replacement(second)
    if before is None or after is None:
        return None
    written = {f"non_trainables.{a.keyword.value}" for a in before.args if a.keyword}
    own = {a.keyword.value for a in before.args if a.keyword}
    for argument in after.args:
        # A state's own dtype may be read: a replacement keeps it.
        text = code(argument.value).replace(
            f"non_trainables.{argument.keyword.value}.dtype"
            if argument.keyword
            else "",
            "",
        )
        if any(name in text for name in written) or _reads_all(argument.value):
            return None
        if argument.keyword and argument.keyword.value in own:
            return None
    if comments_in(second):
        return None
    arguments = [
        a.with_changes(comma=cst.MaybeSentinel.DEFAULT)
        for a in (*before.args, *after.args)
    ]
    return first.with_deep_changes(before, args=arguments)


def _reads_all(node: cst.CSTNode) -> bool:
    """Whether the states are handed on as a whole, to a method that reads any of them."""
    owners = {part.value for part in parts(node) if isinstance(part, cst.Attribute)}
    return any(
        isinstance(part, cst.Name) and part.value == "non_trainables"
        for part in parts(node)
        if part not in owners
    )


def _replacement(node: cst.BaseStatement) -> cst.Call | None:
    match node:
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name("non_trainables"))],
                    value=cst.Call(
                        func=cst.Attribute(
                            value=cst.Name("non_trainables"),
                            attr=cst.Name("_replace"),
                        )
                    ) as call,
                )
            ]
        ):
            return call
    return None
