"""Declarations of `setup` that several statements make: in branches, or as lists and dictionaries."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
        if not declared.conditions:
            self.source.report(target, f"self.{name} is declared twice")
            return True
        if not is_none(value):
            self._declaration(name, value)
        return True

    def _of_branches(self, declaration: Declaration) -> Declaration:
        """A declaration that several branches make, each in its way."""
        declared = self.declared[declaration.name]
        condition = declaration.condition
        made = [v for v in declared.values if not is_none(v)]
        absent = not assigns(self.method.body, declaration.name)
        declaration = replace(declaration, absent=absent)
        tests = list(declared.conditions)
        if len(made) == 1 and tests:
            both = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
            condition = self._expression_of(both)
        if len(made) == 1 or not tests:
            return replace(declaration, condition=condition, branches=len(made))
        first, second = made[:2]
        parts = {}
        for number, what in enumerate(("initializer", "shape")):
            if declaration.role is Role.SUB_LAYER:
                break
            two = [c.args[number] for c in (first, second) if isinstance(c, ast.Call)]
            if ast.dump(two[0]) != ast.dump(two[-1]):
                parts[what] = self._expression_of(ast.IfExp(tests[0], *two))
        return replace(declaration, branches=len(made), **parts)

    def _expression_of(self, node: ast.expr) -> Expression:
        """An expression that is put together of others."""
        text = simplified(unparsed(node))
        return self.scope.expression(ast.parse(text, mode="eval").body)

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


def simplified(text: str) -> str:
    """A condition without what is negated twice."""
    node = ast.parse(text, mode="eval").body
    match node:
        case ast.UnaryOp(
            op=ast.Not(), operand=ast.UnaryOp(op=ast.Not(), operand=inner)
        ):
            return unparsed(inner)
    return text
