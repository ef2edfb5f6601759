"""Reads and assignments of state become reads and replacements of `non_trainables`.

`non_trainables` is rebound where a state is assigned: whatever path is taken returns the newest state.
"""

from __future__ import annotations

import ast

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.rewrite.chains import chain_of
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    augmented,
    code,
    expression,
    missing_comments,
    self_attribute,
    with_comments,
)
from mlax_scaffold.rewrite.presence import compared_with_none
from mlax_scaffold.rewrite.traversal import Transformer


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    states = context.declared(Role.STATE)
    called = context.method.reads & set(context.needs)
    handed = {state for name in called for state in context.needs[name].states}
    used = states & {*context.method.reads, *context.method.assigns, *handed}
    if not used and not context.dynamic and not context.containers:
        return function
    transformer = _State(context, states)
    return cst.ensure_type(function.visit(transformer), cst.FunctionDef)


class _State(Transformer):
    def __init__(self, context: Context, states: frozenset[str]):
        super().__init__()
        self.context = context
        self.states = states
        mixed = context.containers.items()
        self.changing = states | {n for n, d in mixed if d.holds(Role.STATE)}
        needs = context.needs.get(context.method.name)
        self.given = () if needs is None else needs.states

    def _stored(self, target: cst.CSTNode) -> tuple[str, str] | None:
        """The field of `non_trainables` that a target is, and how its new value is stored."""
        chain = chain_of(target)
        trees = {*self.context.trees, *self.context.containers}
        if chain is not None and chain.name in trees & self.changing:
            tree = f"non_trainables.{chain.name}"
            return chain.name, f"containers.stored({tree}, {chain.path}, {{}})"
        name = self_attribute(target)
        if name in self.states:
            return name or "", f"jnp.asarray({{}}, non_trainables.{name}.dtype)"
        match target:
            case cst.Attribute(
                value=cst.Name("non_trainables"), attr=cst.Name(value=field)
            ) if field in self.context.dynamic:
                return field, "{}"
        return None

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        if self_attribute(updated_node.value) == "stored":
            return expression(f"non_trainables.{updated_node.attr.value}")
        name = self_attribute(updated_node)
        if name is None or name not in self.states:
            return updated_node
        return expression(self._read(name))

    def _read(self, name: str) -> str:
        """The state in the compute dtype, where it is floating."""
        if name in self.given:
            return self.context.given_as(name)
        state = f"non_trainables.{name}"
        dtype = self.context.compute_dtype
        if name in self.context.trees:
            return state if dtype is None else f"arrays.cast({state}, {dtype})"
        declaration = self.context.declarations[name]
        floating = _is_floating(declaration.dtype)
        if dtype is None or floating is False:
            return state
        if floating is None or self.context.is_own or self.context.tree_dtype:
            return f"arrays.cast({state}, {dtype})"
        return f"arrays.in_dtype({state}, {dtype})"

    def leave_Comparison(
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        name = compared_with_none(original_node)
        if name not in self.states:
            return updated_node
        return updated_node.with_changes(left=expression(f"non_trainables.{name}"))

    def leave_AugAssign(
        self, original_node: cst.AugAssign, updated_node: cst.AugAssign
    ) -> cst.AugAssign | cst.Assign:
        stored = self._stored(original_node.target)
        if stored is None:
            return updated_node
        value = augmented(code(updated_node.target), updated_node)
        return _assignment(_replacement({stored[0]: self._new(stored, value)}))

    def leave_Assign(
        self, original_node: cst.Assign, updated_node: cst.Assign
    ) -> cst.Assign:
        stored = self._stored(original_node.targets[0].target)
        if stored is None:
            return updated_node
        value = code(updated_node.value)
        return _assignment(_replacement({stored[0]: self._new(stored, value)}))

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        return _commented(updated_node, original_node)

    def _new(self, stored: tuple[str, str], value: str) -> str:
        before, _, after = stored[1].rpartition("{}")
        return f"{before}{value}{after}"


def _commented(
    new: cst.SimpleStatementLine, old: cst.SimpleStatementLine
) -> cst.SimpleStatementLine:
    return new if new is old else with_comments(new, missing_comments(old, [new]))


def _replacement(new: dict[str, str]) -> str:
    fields = ", ".join(f"{field}={value}" for field, value in new.items())
    return f"non_trainables._replace({fields})"


def _assignment(value: str) -> cst.Assign:
    return cst.Assign(
        targets=[cst.AssignTarget(cst.Name("non_trainables"))], value=expression(value)
    )


def _is_floating(dtype: Expression | None) -> bool | None:
    """Whether a declared dtype is floating; None where it does not say so."""
    if dtype is None:
        return True
    match dtype.tree:
        case ast.Constant(value=str(word)) | ast.Attribute(attr=word) | ast.Name(word):
            kind = word.rstrip("0123456789")
            return True if kind in _FLOATING else False if kind in _OTHERS else None
    return None


_FLOATING = ("float", "bfloat", "complex")
_OTHERS = ("int", "uint", "bool", "bool_")
"""Names of dtypes without the numbers of their bits."""
