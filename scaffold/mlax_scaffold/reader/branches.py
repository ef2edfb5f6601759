"""Declarations of `setup` that several statements make: in branches, or as lists and dictionaries."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mlax_scaffold.model.conditions import Way, chosen, either, there, ways
from mlax_scaffold.model.definition import Declaration, Role
from mlax_scaffold.model.expressions import Expression
from mlax_scaffold.model.places import Member
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.reader.containers.declared import Declared, Form
from mlax_scaffold.reader.resolution import Scope
from mlax_scaffold.reader.source import Source, is_none, self_attribute


@dataclass
class Branches:
    """What is known of the declarations of one `setup`, and those that several statements make."""

    scope: Scope
    """What names stand for; the attributes that are declared are added to it."""
    allowed_roles: tuple[Role, ...] = ()
    declarations: list[Declaration] = field(default_factory=list)
    method: ast.FunctionDef = field(init=False)
    declared: Mapping[str, Declared] = field(default_factory=dict, init=False)
    """How each attribute is declared."""
    counts: list[ast.expr] = field(default_factory=list, init=False)
    """What an optimizer's own counts of its steps begin with."""

    @property
    def source(self) -> Source:
        return self.scope.source

    def _form(self, name: str | None) -> Form:
        found = self.declared.get(name or "")
        return Form.VALUE if found is None else found.form

    def _declaration(self, name: str, value: ast.expr) -> Declaration | None:
        raise NotImplementedError

    def _in_branches(self, name: str, target: ast.expr, value: ast.expr) -> bool:
        """Whether a branch declares what is known already; what is wrong with it is reported."""
        declared = self.declared[name]
        if declared.repeated:
            self.source.report(
                target,
                f"self.{name} is declared in a loop, so that the last one alone would stay",
                f"Begin with `self.{name} = []`, and write `self.{name}.append(...)`.",
            )
            return True
        if is_none(value) and value is declared.values[0]:
            return True
        if not any(d.name == name for d in self.declarations):
            return False
        if not declared.in_branch:
            self.source.report(target, f"self.{name} is declared twice")
            return True
        if not is_none(value):
            self._declaration(name, value)
        return True

    def _of_branches(self, declaration: Declaration) -> Declaration:
        """A declaration that several branches make, each in its way."""
        found = self.declared[declaration.name].ways
        each = [w for way in found for w in ways(way.value, way.tests)]
        is_made = [not is_none(way.value) for way in each]
        made = [way for way in each if not is_none(way.value)]
        made_where = either(there(each, is_made))
        parts: dict[str, Expression] = {}
        if made_where is not None:
            parts["condition"] = self._expression_of(made_where)
        calls = [w.value for w in made if isinstance(w.value, ast.Call)]
        several = len(calls) == len(made) > 1 and all(c.args[1:] for c in calls)
        if declaration.shape is not None and several:
            for number, what in enumerate(("initializer", "shape")):
                given = zip(calls, made, strict=True)
                each = [Way(c.args[number], w.tests) for c, w in given]
                parts[what] = self._expression_of(chosen(each))
        absent = not assigns(self.method.body, declaration.name)
        return replace(declaration, absent=absent, branches=len(made), **parts)

    def _expression_of(self, node: ast.expr) -> Expression:
        """An expression that is put together of others."""
        return self.scope.expression(ast.parse(unparsed(node), mode="eval").body)

    def _arrays(self, name: str) -> bool:
        kinds = {m.what for m in self.declared[name].members} - {None}
        return all(isinstance(kind, Role) for kind in kinds)

    def _tree(self, statement: ast.stmt, name: str, place: ast.AST) -> None:
        """A container, at the first statement that makes it, or another one."""
        if any(d.name == name for d in self.declarations):
            return
        members = tuple(self.declared[name].members)
        if self._arrays(name) and Member((), None) in members:
            self.source.report(
                place,
                f"self.{name} is declared, or a value that is no declaration",
                "It may be None there, or a number that hyperparameters alone say; "
                "an array is made where it is used.",
            )
            return
        arrays = {m.what for m in members} & set(Role)
        role = Role.SUB_LAYER
        if self._arrays(name) and len(arrays) == 1:
            [role] = arrays
        layers = role is Role.SUB_LAYER
        if role not in self.allowed_roles:
            what = "a sub-layer" if layers else f"{role.value}(...)"
            self.source.report(place, f"{what} cannot be declared here")
            return
        if role is Role.MOMENT and any(m.what is None for m in members):
            self.source.report(
                place,
                f"self.{name} holds moments, and a value that is none",
                "Keep the value in another attribute, or in a local.",
            )
        self.scope.attributes[name] = "container" if layers else role.value
        absent = not assigns(self.method.body, name)
        self.declarations.append(
            Declaration(
                role,
                name,
                members=members,
                absent=absent,
                doc=self.source.doc_comment(statement),
                location=self.source.location(place),
            )
        )


def assigns(body: list[ast.stmt], name: str) -> bool:
    """Whether every way through statements assigns to an attribute of self."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                if self_attribute(target) == name:
                    return True
            case ast.If(body=then, orelse=otherwise):
                if assigns(then, name) and assigns(otherwise, name):
                    return True
    return False
