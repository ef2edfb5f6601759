"""Reads and assignments of state become reads and replacements of `non_trainables`.

`non_trainables` is rebound where a state is assigned, so that whatever path is taken returns the newest state.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    code,
    expression,
    fresh,
    names_in,
    self_attribute,
    statement,
)


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    states = context.declared(Role.STATE)
    if not states and not context.dynamic:
        return function
    transformer = _State(context, states, names_in(function))
    return cst.ensure_type(function.visit(transformer), cst.FunctionDef)


class _State(cst.CSTTransformer):
    def __init__(self, context: Context, states: frozenset[str], taken: set[str]):
        super().__init__()
        self.context = context
        self.states = states
        self.taken = taken

    def _stored(self, target: cst.CSTNode) -> tuple[str, bool] | None:
        """The field of `non_trainables` that a target is, and whether it is an array."""
        name = self_attribute(target)
        if name in self.states:
            return name or "", True
        match target:
            case cst.Attribute(
                value=cst.Name("non_trainables"), attr=cst.Name(value=field)
            ) if field in self.context.dynamic:
                return field, False
        return None

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        name = self_attribute(updated_node)
        if name not in self.states:
            return updated_node
        dtype = self.context.compute_dtype
        integer = _is_integer(self.context.declarations[name or ""].dtype)
        if dtype is None or integer:
            return expression(f"non_trainables.{name}")
        return expression(f"non_trainables.{name}.astype({dtype})")

    def leave_AugAssign(
        self, original_node: cst.AugAssign, updated_node: cst.AugAssign
    ):
        stored = self._stored(original_node.target)
        if stored is None:
            return updated_node
        operator = code(updated_node.operator).strip().removesuffix("=")
        value = f"{code(updated_node.target)} {operator} ({code(updated_node.value)})"
        return _assignment(_replacement({stored[0]: self._new(stored, value)}))

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign):
        [original, *_] = original_node.targets
        stored = self._stored(original.target)
        if stored is None:
            return updated_node
        value = code(updated_node.value)
        return _assignment(_replacement({stored[0]: self._new(stored, value)}))

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        """A tuple that is assigned to goes through names of its own."""
        match original_node.body:
            case [cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as tuple_)])]:
                pass
            case _:
                return updated_node
        stored = [self._stored(e.value) for e in tuple_.elements]
        if not any(stored):
            return updated_node
        names: list[str] = []
        new: dict[str, str] = {}
        for element, found in zip(tuple_.elements, stored, strict=True):
            if found is None:
                names.append(code(element.value))
            else:
                names.append(fresh(f"new_{found[0]}", self.taken))
                new[found[0]] = self._new(found, names[-1])
        assign = cst.ensure_type(updated_node.body[0], cst.Assign)
        first = statement(f"{', '.join(names)} = {code(assign.value)}")
        return cst.FlattenSentinel(
            [
                first.with_changes(
                    leading_lines=updated_node.leading_lines,
                    trailing_whitespace=updated_node.trailing_whitespace,
                ),
                statement(f"non_trainables = {_replacement(new)}"),
            ]
        )

    def _new(self, stored: tuple[str, bool], value: str) -> str:
        field, is_array = stored
        if not is_array:
            return value
        return f"jnp.asarray({value}, non_trainables.{field}.dtype)"


def _replacement(new: dict[str, str]) -> str:
    fields = ", ".join(f"{field}={value}" for field, value in new.items())
    return f"non_trainables._replace({fields})"


def _assignment(value: str) -> cst.Assign:
    return cst.Assign(
        targets=[cst.AssignTarget(cst.Name("non_trainables"))], value=expression(value)
    )


def _is_integer(dtype: str | None) -> bool:
    return dtype is not None and any(w in dtype for w in ("int", "bool"))
