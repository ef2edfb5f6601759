"""Reads `setup`: what a layer or an optimizer declares."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.definition import (
    Requirement,
    Role,
)
from mlax_scaffold.model.expressions import Expression, Origin
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.branches import assigns
from mlax_scaffold.reader.checks.declarations import check_arguments
from mlax_scaffold.reader.checks.defaults import check_type
from mlax_scaffold.reader.checks.initial_arrays import (
    check_initial_array,
    is_initial_array,
)
from mlax_scaffold.reader.checks.setup_arrays import check_setup_arrays
from mlax_scaffold.reader.containers.declared import Form, declared_in
from mlax_scaffold.reader.declaring import ALLOWED, Declaring
from mlax_scaffold.reader.methods import names_of
from mlax_scaffold.reader.remedies.bodies import of_self, one_by_one, removed
from mlax_scaffold.reader.remedies.derived import derived
from mlax_scaffold.reader.remedies.leaves import by_leaf
from mlax_scaffold.reader.remedies.statements import in_setup
from mlax_scaffold.reader.requirements import (
    check_assertion,
    read_raises,
    read_requirement,
)
from mlax_scaffold.reader.source import is_none, self_attribute

_CHECKS = (
    "setup of a schedule declares nothing: it holds `require(condition, message)`, "
    "`if condition: raise ValueError(message)`, and locals."
)

_LEAVES = (
    "A moment is declared for every leaf, with a shape that may depend on it, and is (0,) "
    "where a leaf needs none: `moment(zeros, param.shape if param.ndim == 2 else (0,))`."
)


@dataclass
class SetupReader(Declaring):
    """Collects the declarations of one `setup` method."""

    requirements: list[Requirement] = field(default_factory=list)
    bound: dict[str, list[ast.expr]] = field(default_factory=dict)
    """The values of each local."""
    copies_weights: bool = False
    """Whether a moment begins as a copy."""

    def read(self, method: ast.FunctionDef, roles: tuple[Role, ...]) -> None:
        """Read one method that declares; `roles` are what it may declare."""
        self.allowed_roles = roles
        self.method = method
        _, bound = names_of(method)
        inputs = [a.arg for a in method.args.args]
        self.scope = self.scope.within(Origin.LOCAL, bound).within(Origin.INPUT, inputs)
        if Role.SUB_LAYER in roles:
            self.declared = declared_in(method, self._what)
        elif Role.MOMENT in roles:
            found = declared_in(method, self._what)
            # Whatever else is no container is declared by one statement.
            self.declared = {n: d for n, d in found.items() if d.holds}
        self._scheduled(method)
        for statement in method.body:
            self._statement(statement)
        derived = [d.name for d in self.declarations if d.role is Role.DERIVED]
        check_setup_arrays(self.source, method, derived, self.scope.imports)
        for call in walk(method):
            if call in self.counts:
                continue
            if isinstance(call, ast.Call) and self._role(call) is not None:
                if is_initial_array(call, self.scope.imports):
                    check_initial_array(self.source, call, self.scope.imports)
                else:
                    check_arguments(self.source, call, self.scope.imports)
                shaped = len(call.args) > 1 or any(
                    k.arg == "shape" for k in call.keywords
                )
                self.copies_weights |= self._role(call) is Role.MOMENT and not shaped

    def _scheduled(self, method: ast.FunctionDef) -> None:
        """Report what is computed of a field that may be a schedule."""
        for node in walk(method):
            if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
                for part in ast.iter_child_nodes(node):
                    name = self_attribute(part)
                    if self.scope.attributes.get(name or "") == "scheduled":
                        self.source.report(
                            part,
                            f"`self.{name}` may be a schedule, whose values are those of steps",
                            "What is kept begins before the first one. Begin in a step: "
                            "`jnp.where(self.step_number == 1, first, self.kept)`.",
                        )

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                return
            case ast.Expr(value=ast.Call(func=ast.Name(id="require")) as call):
                requirement = read_requirement(self.scope, call, "setup")
                if requirement:
                    self.requirements.append(requirement)
            case ast.If(body=[ast.Raise()]):
                self.requirements += read_raises(self.scope, statement)
            case ast.If() | ast.For() | ast.While() if self._fills(statement) or not (
                statement_declares(statement, self._declares)
            ):
                self._block(statement)
            case ast.FunctionDef(name=name):
                self._unknown(name)
            case ast.AugAssign(target=ast.Name() | ast.Subscript() as target) if (
                root := _root(target)
            ):
                self._unknown(root)
            case ast.Expr(value=ast.Call(func=ast.Attribute() as called)) if unparsed(
                called
            ) in ("super().__init__", "super().setup"):
                self.source.report(
                    statement,
                    "a spec calls no method of its base",
                    "Leave it out.",
                    fix=Fix((removed(self.source, statement),)),
                )
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))) if (
                self._form(self_attribute(owner)) is Form.TREE
            ):
                self._tree(statement, self_attribute(owner) or "", statement)
            case ast.Expr(value=ast.Call() as call) if not self._declares(call):
                pass
            case ast.AugAssign(target=ast.Attribute() as target) if (
                self._form(self_attribute(target)) is Form.TREE
            ):
                self._tree(statement, self_attribute(target) or "", target)
            case ast.Assign(targets=[target], value=value):
                self._assignment(statement, target, value, None)
            case ast.Assign():
                self.source.report(
                    statement,
                    "what setup declares has one name",
                    "Declare one after the other.",
                    fix=one_by_one(self.source, statement),
                )
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                check_type(self.source, statement.annotation)
                annotation = unparsed(statement.annotation)
                self._assignment(statement, target, value, annotation)
            case ast.Assert():
                check_assertion(self.source, statement)
            case _:
                branches = isinstance(statement, ast.If)
                of_leaf = branches and Role.MOMENT in self.allowed_roles
                self.source.report(
                    statement,
                    "this statement cannot stand in setup",
                    _LEAVES if of_leaf else self._allowed(),
                    fix=by_leaf(self.source, statement)
                    if of_leaf
                    else in_setup(self.source, statement),
                )

    def _fills(self, statement: ast.stmt) -> bool:
        """Whether a condition or a loop may declare something; of moments a loop those of containers."""
        if Role.MOMENT not in self.allowed_roles:
            return bool(self.declared)
        made = [
            self_attribute(n.targets[0])
            for n in walk(statement)
            if isinstance(n, ast.Assign) and statement_declares(n, self._declares)
        ]
        loops = not isinstance(statement, ast.If) and bool(self.declared)
        return loops and all(n in (None, *self.declared) for n in made)

    def _block(self, statement: ast.If | ast.For | ast.While) -> None:
        """What a condition or a loop holds; its names have more than one value, or none."""
        for target in _targets(statement):
            self._unknown(target)
        for inner in (*statement.body, *statement.orelse):
            match inner:
                case ast.Break() | ast.Continue():
                    pass
                case ast.AugAssign(target=ast.Attribute() as target) if (
                    self._form(self_attribute(target)) is not Form.TREE
                ):
                    pass
                case ast.Assign(targets=[ast.Attribute() as target], value=value) if (
                    self._form(self_attribute(target)) is Form.VALUE
                ):
                    self._derived(inner, target, value)
                case ast.Assign(targets=targets):
                    self._statement(inner)
                    for name in (n for t in targets for n in walk(t)):
                        if isinstance(name, ast.Name):
                            self._unknown(name.id)
                case _:
                    self._statement(inner)

    def _derived(self, statement: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        """A value that another branch, or another pass, derives in its own way."""
        name = self_attribute(target) or ""
        declared = {d.name: d for d in self.declarations}
        if name not in declared:
            self._assignment(statement, target, value, None)
            declared = {d.name: d for d in self.declarations}
        if name in declared and declared[name].role is Role.DERIVED:
            at = self.declarations.index(declared[name])
            self.declarations[at] = replace(declared[name], value=None)
        elif name in declared:
            self.source.report(target, f"self.{name} is declared twice")

    def _unknown(self, name: str) -> None:
        """A local of which the text alone does not tell the value."""
        unknown = ast.Constant(None)
        self.bound.setdefault(name, []).extend((unknown, unknown))

    @property
    def bindings(self) -> tuple[tuple[str, Expression], ...]:
        """The locals that are assigned once, with their values."""
        return tuple(
            (name, self.scope.expression(values[0]))
            for name, values in self.bound.items()
            if len(values) == 1
        )

    def _allowed(self) -> str:
        return ALLOWED if self.allowed_roles else _CHECKS

    def _assignment(
        self,
        statement: ast.stmt,
        target: ast.expr,
        value: ast.expr,
        annotation: str | None,
    ) -> None:
        name = self_attribute(target)
        if name is None:
            if isinstance(target, ast.Attribute):
                return  # whatever can be assigned, attributes of other objects cannot
            if isinstance(target, ast.Subscript):
                owner = target.value
                while isinstance(owner, ast.Subscript):
                    owner = owner.value
                if self._form(self_attribute(owner)) is Form.TREE:
                    self._tree(statement, self_attribute(owner) or "", owner)
            if isinstance(target, ast.Subscript) and (root := _root(target)):
                self._unknown(root)
            elif isinstance(target, ast.Subscript):
                pass
            elif not _plain_names(target):
                self.source.report(
                    target,
                    "this cannot be assigned in setup",
                    ALLOWED,
                    fix=one_by_one(self.source, statement),
                )
            elif self._stays_local(target) and any(
                self._declares(node) for node in walk(value)
            ):
                self.source.report(
                    value,
                    "a declaration must be assigned to an attribute of self",
                    f"Write `self.{unparsed(target)} = ...`.",
                    fix=of_self(self.source, self.method, target),
                )
            else:
                self._bind(target, value)
            return
        if not self.allowed_roles:
            self.source.report(
                target,
                f"self.{name} cannot be declared here",
                f"{_CHECKS} What fields say is a property.",
                fix=derived(self.source, self.method, value),
            )
            return
        form = self._form(name)
        if form is Form.TREE or (form is Form.ROW and self._arrays(name)):
            self._tree(statement, name, target)
            return
        branched = form is Form.PLAIN and (
            len(self.declared[name].values) > 1
            or self.declared[name].in_branch
            or self.declared[name].repeated
        )
        if branched and self._in_branches(name, target, value):
            return
        if any(d.name == name for d in self.declarations):
            self.source.report(target, f"self.{name} is declared twice")
            return
        if branched:
            value = next(v for v in self.declared[name].values if not is_none(v))
        declaration = self._declaration(name, value)
        if declaration is not None and branched:
            declaration = self._of_branches(declaration)
        elif declaration is not None and declaration.role is Role.DERIVED:
            absent = not assigns(self.method.body, name)
            declaration = replace(declaration, absent=absent)
        if declaration is not None:
            self.scope.attributes[name] = declaration.role.value
            self.declarations.append(
                replace(
                    declaration,
                    doc=self.source.doc_comment(statement),
                    annotation=annotation,
                    location=self.source.location(target),
                )
            )

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _:
                self.bound.setdefault(name, []).append(value)
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if not any(
                isinstance(part, ast.Starred) for part in (*targets, *values)
            ):
                for part, of_part in zip(targets, values, strict=False):
                    self._bind(part, of_part)
            case _:
                # Nothing is known of the parts but that they are no others.
                for part in walk(target):
                    if isinstance(part, ast.Name):
                        self.bound.setdefault(part.id, []).extend((value, value))

    def _stays_local(self, target: ast.expr) -> bool:
        """Whether what a local holds is part of no container."""
        names = {n.id for n in walk(target) if isinstance(n, ast.Name)}
        used = {
            n.id
            for n in walk(self.method)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        trees = any(d.form is Form.TREE for d in self.declared.values())
        return not (trees and names & used)


def statement_declares(
    statement: ast.stmt, declares: Callable[[ast.AST], bool]
) -> bool:
    """Whether a statement declares something, or binds what no other statement of setup may."""
    return any(map(declares, walk(statement)))


def _root(target: ast.expr) -> str:
    """The local that a target is, or is an item of."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _targets(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.For):
        for node in walk(statement.target):
            if isinstance(node, ast.Name):
                yield node.id


def _plain_names(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_plain_names, target.elts))
    if isinstance(target, ast.Starred):
        return _plain_names(target.value)
    return isinstance(target, ast.Name)
