"""Assignments to several targets, of which some are states, become one for each of these.

`self.mean, y = f(x)` becomes `new_mean, y = f(x)` and `self.mean = new_mean`, and `self.mean = m = f(x)`
becomes `m = f(x)` and `self.mean = m`: in the order in which Python assigns.
"""

from __future__ import annotations

import libcst as cst

from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import fresh, local_names, self_attribute
from mlax_scaffold.rewrite.traversal import Transformer, parts


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    split = _Split(local_names(function) | context.taken)
    return cst.ensure_type(function.visit(split), cst.FunctionDef)


class _Split(Transformer):
    def __init__(self, taken: set[str]):
        super().__init__()
        self.taken = taken

    def leave_SimpleStatementLine(
        self,
        original_node: cst.SimpleStatementLine,
        updated_node: cst.SimpleStatementLine,
    ) -> cst.BaseStatement | cst.FlattenSentinel[cst.BaseStatement]:
        match updated_node.body:
            case [cst.Assign(targets=[*several], value=value)]:
                targets = [target.target for target in several]
            case _:
                return updated_node
        if not self._splits(targets):
            return updated_node
        pairs: list[tuple[cst.BaseAssignTargetExpression, cst.BaseExpression]] = []
        if len(targets) > 1:
            local = self._local(targets, value)
            if local is not value:
                pairs.append((local, value))
            targets = [target for target in targets if target is not local]
            value = local
        for target in targets:
            names = _Names(self.taken)
            named = target if _field(target) else target.visit(names)
            to = cst.ensure_type(named, cst.BaseAssignTargetExpression)
            pairs += [(to, value), *names.found]
        lines = [cst.Assign([cst.AssignTarget(to)], what) for to, what in pairs]
        first = updated_node.with_changes(body=lines[:1])
        rest = [cst.SimpleStatementLine([line]) for line in lines[1:]]
        return cst.FlattenSentinel([first, *rest])

    def _splits(self, targets: list[cst.BaseAssignTargetExpression]) -> bool:
        if len(targets) == 1 and _field(targets[0]):
            return False
        return any(_field(part) for target in targets for part in parts(target))

    def _local(
        self,
        targets: list[cst.BaseAssignTargetExpression],
        value: cst.BaseExpression,
    ) -> cst.Name:
        """The local that holds what several targets get; none that an index of another one reads."""
        read = {name for t in targets if _field(t) for name in local_names(t)}
        for local in (value, *targets):
            if isinstance(local, cst.Name) and local.value not in read:
                return local
        field = next(filter(None, map(_field, targets)), None)
        return cst.Name(fresh(f"new_{field}" if field else "values", self.taken))


class _Names(Transformer):
    """Puts a fresh name in the place of every state in the target of an assignment."""

    def __init__(self, taken: set[str]):
        super().__init__()
        self.taken = taken
        self.found: list[tuple[cst.BaseAssignTargetExpression, cst.Name]] = []

    def _named(
        self, target: cst.Attribute | cst.Subscript
    ) -> cst.Attribute | cst.Subscript | cst.Name:
        field = _field(target)
        if field is None:
            return target
        name = cst.Name(fresh(f"new_{field}", self.taken))
        self.found.append((target, name))
        return name

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return False

    def visit_Subscript(self, node: cst.Subscript) -> bool:
        return False

    def leave_Attribute(
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        return self._named(updated_node)

    def leave_Subscript(
        self, original_node: cst.Subscript, updated_node: cst.Subscript
    ) -> cst.BaseExpression:
        return self._named(updated_node)


def _field(target: cst.CSTNode) -> str | None:
    """The attribute of self that a target is, or of which it is a part."""
    while isinstance(target, cst.Attribute | cst.Subscript):
        if (name := self_attribute(target)) is not None:
            return name
        target = target.value
    return None
