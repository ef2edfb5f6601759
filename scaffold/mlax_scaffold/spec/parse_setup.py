"""Reads `setup`: what a layer or an optimizer declares."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from mlax_scaffold.model.definition import (
    Declaration,
    Import,
    Requirement,
    Role,
)
from mlax_scaffold.spec.check_defaults import check_type
from mlax_scaffold.spec.parse_requirements import read_raises, read_requirement
from mlax_scaffold.spec.parse_source import Source, dotted, self_attribute

_ROLES = {
    "trainable": Role.TRAINABLE,
    "state": Role.STATE,
    "moment": Role.MOMENT,
}
_ALLOWED = (
    "setup is straight-line code: `self.name = trainable(...)`, `state(...)`, "
    "a sub-layer or a value derived from hyperparameters (each may end in "
    "`if condition else None`), a list of sub-layers `[Layer(...) for name in items]`, "
    "`name = expression`, `require(condition, message)`, or "
    "`if condition: raise ValueError(message)`."
)
_CHECKS = (
    "setup of a schedule holds `require(condition, message)`, "
    "`if condition: raise ValueError(message)`, and locals."
)


@dataclass
class SetupReader:
    """Collects the declarations of one `setup` method."""

    source: Source
    imports: dict[str, Import]
    allowed_roles: tuple[Role, ...] = ()
    declarations: list[Declaration] = field(default_factory=list)
    requirements: list[Requirement] = field(default_factory=list)
    method: ast.FunctionDef = field(init=False)

    def read(self, method: ast.FunctionDef, roles: tuple[Role, ...]) -> None:
        """Read one method that declares; `roles` are what it may declare."""
        self.allowed_roles = roles
        self.method = method
        for statement in method.body:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                return
            case ast.Expr(value=ast.Call(func=ast.Name(id="require")) as call):
                requirement = read_requirement(self.source, call, "setup")
                if requirement:
                    self.requirements.append(requirement)
            case ast.If(body=[ast.Raise()]):
                self.requirements += read_raises(self.source, statement)
            case ast.Assign(targets=[target], value=value):
                self._assignment(statement, target, value, None)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                check_type(self.source, statement.annotation)
                annotation = ast.unparse(statement.annotation)
                self._assignment(statement, target, value, annotation)
            case _:
                self.source.report(
                    statement, "this statement cannot stand in setup", self._allowed()
                )

    def _allowed(self) -> str:
        return _ALLOWED if self.allowed_roles else _CHECKS

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
            if not _plain_names(target):
                self.source.report(target, "this cannot be assigned in setup", _ALLOWED)
            elif any(self._declares(node) for node in ast.walk(value)):
                self.source.report(
                    value,
                    "a declaration must be assigned to an attribute of self",
                    f"Write `self.{ast.unparse(target)} = ...`.",
                )
            return
        if not self.allowed_roles:
            self.source.report(target, f"self.{name} cannot be declared here", _CHECKS)
            return
        if any(d.name == name for d in self.declarations):
            self.source.report(target, f"self.{name} is declared twice")
            return
        declaration = self._declaration(name, value)
        if declaration is not None:
            self.declarations.append(
                replace(
                    declaration,
                    doc=self.source.doc_comment(statement),
                    annotation=annotation,
                    location=self.source.location(target),
                )
            )

    def _declares(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and (
            self._role(node) is not None or self._reference(node) is not None
        )

    def _role(self, call: ast.Call) -> Role | None:
        return _ROLES.get(dotted(call.func) or "")

    def _reference(self, call: ast.Call) -> Import | None:
        imported = self.imports.get(dotted(call.func) or "")
        if imported is None or imported.reference is None:
            return None
        return imported if imported.reference.section in ("nn", "block") else None

    def _declaration(self, name: str, value: ast.expr) -> Declaration | None:
        condition: str | None = None
        body = value
        if isinstance(value, ast.IfExp) and self._declares(value.body):
            if not (
                isinstance(value.orelse, ast.Constant) and value.orelse.value is None
            ):
                self.source.report(
                    value.orelse,
                    "a declaration is made or not made",
                    "Write `... if condition else None`.",
                )
                return None
            condition = self.source.segment(value.test)
            body = value.body
        if isinstance(body, ast.Call) and self._declares(body):
            role = self._role(body)
            if role is None:
                return self._sub_layer(name, body, condition)
            return self._array(role, name, body, condition)
        match value:
            case ast.ListComp(elt=ast.Call() as call) if self._reference(call):
                return self._several(name, value, call)
        for node in ast.walk(value):
            if self._declares(node):
                self.source.report(
                    node, "a declaration cannot be part of an expression", _ALLOWED
                )
                return None
        if Role.DERIVED not in self.allowed_roles:
            self.source.report(
                value,
                f"self.{name} is no declaration",
                f"Use {self._words()}, or a local: `{name} = ...`.",
            )
            return None
        return Declaration(Role.DERIVED, name)

    def _sub_layer(
        self, name: str, call: ast.Call, condition: str | None
    ) -> Declaration | None:
        if Role.SUB_LAYER not in self.allowed_roles:
            self.source.report(call, "a sub-layer cannot be declared here")
            return None
        imported = self._reference(call)
        assert imported is not None
        return Declaration(
            Role.SUB_LAYER, name, condition=condition, reference=imported.reference
        )

    def _several(
        self, name: str, value: ast.ListComp, call: ast.Call
    ) -> Declaration | None:
        plain = len(value.generators) == 1 and not value.generators[0].ifs
        if not plain or value.generators[0].is_async:
            self.source.report(
                value,
                "a list of sub-layers has one `for`, and no `if`",
                "Bind what it runs over to a name before it.",
            )
            return None
        declaration = self._sub_layer(name, call, None)
        return declaration and replace(declaration, several=True)

    def _array(
        self, role: Role, name: str, call: ast.Call, condition: str | None
    ) -> Declaration | None:
        if role not in self.allowed_roles:
            self.source.report(
                call,
                f"{role.value}(...) cannot be declared here",
                f"Use {self._words()}.",
            )
            return None
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                self.source.report(argument, "arguments are given one by one")
                return None
        arguments = list(call.args)
        keywords = {k.arg: k.value for k in call.keywords}
        if "dtype" in keywords:
            arguments.append(keywords.pop("dtype"))
        if role is Role.MOMENT and condition is not None:
            self._check_condition(condition, call)
        if role is Role.MOMENT and not keywords and len(call.args) == 1:
            value, *dtype = map(self.source.segment, arguments)
            given = dtype[0] if dtype and dtype[0] != "None" else None
            return Declaration(
                role, name, value=value, dtype=given, condition=condition
            )
        with_dtype = 2 if role is Role.TRAINABLE else 3
        at_least = keywords.pop("at_least", None) if role is Role.STATE else None
        if keywords or not 2 <= len(arguments) <= with_dtype - bool(at_least):
            expected = f"{role.value}(initializer, shape"
            expected += ")" if role is Role.TRAINABLE else ", dtype=None)"
            if role is Role.STATE:
                expected += f" or {expected.replace('dtype=None', 'at_least=dtype')}"
            self.source.report(call, f"expected {expected}")
            return None
        if role is not Role.MOMENT:
            self._check_lambda(arguments[0])
        initializer, shape, *dtype = map(self.source.segment, arguments)
        return Declaration(
            role,
            name,
            initializer=initializer,
            shape=shape,
            dtype=dtype[0] if dtype and dtype[0] != "None" else None,
            at_least=None if at_least is None else self.source.segment(at_least),
            condition=condition,
        )

    def _check_lambda(self, initializer: ast.expr) -> None:
        """An initializer is called with a dtype only where one is asked for."""
        if not isinstance(initializer, ast.Lambda):
            return
        given = initializer.args
        count = len(given.posonlyargs) + len(given.args)
        if count != 3 or len(given.defaults) != 1:
            self.source.report(
                initializer,
                "an initializer takes a key, a shape, and a dtype that may be left out",
                "Write `lambda k, s, d=jnp.float32: ...`.",
            )

    def _words(self) -> str:
        return " and ".join(
            f"{word}(...)" for word, r in _ROLES.items() if r in self.allowed_roles
        )

    def _check_condition(self, condition: str, call: ast.Call) -> None:
        """A moment is there for all weights or for none: its tree is that of the weights."""
        bound = {a.arg for a in self.method.args.args} - {"self"}
        bound |= {
            n.id
            for n in ast.walk(self.method)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        names = [n for n in ast.walk(ast.parse(condition)) if isinstance(n, ast.Name)]
        if any(n.id in bound for n in names):
            self.source.report(
                call,
                "whether a moment is there may depend on hyperparameters only",
                "Where it depends on the weight, give it the shape (0,) instead.",
            )


def _plain_names(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(map(_plain_names, target.elts))
    return isinstance(target, ast.Name)
