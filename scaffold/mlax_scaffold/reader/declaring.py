"""Reads what one value declares: an array, a layer, a list of layers, or what is derived."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.complex_numbers import names_complex
from mlax_scaffold.model.definition import Declaration, Import, Reference, Role
from mlax_scaffold.model.expressions import Expression, Origin
from mlax_scaffold.model.import_time import is_initializer
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.branches import Branches
from mlax_scaffold.reader.checks.complex_dtypes import check_complex_initializer
from mlax_scaffold.reader.checks.declarations import check_derived
from mlax_scaffold.reader.checks.declared_shapes import check_alone
from mlax_scaffold.reader.checks.initial_arrays import is_initial_array
from mlax_scaffold.reader.remedies.counters import counted, takes_trees
from mlax_scaffold.reader.remedies.derived import derived
from mlax_scaffold.reader.remedies.drawn_locals import drawn_in_locals
from mlax_scaffold.reader.remedies.given_keys import draws
from mlax_scaffold.reader.remedies.leaves import chosen_by_leaf
from mlax_scaffold.reader.remedies.mapped_moments import of_each_leaf
from mlax_scaffold.reader.remedies.moments import (
    declared_as,
    kept_once,
    moment,
    shaped,
)
from mlax_scaffold.reader.remedies.named_tuples import as_dictionary
from mlax_scaffold.reader.source import dotted

_ROLES = {
    "trainable": Role.TRAINABLE,
    "state": Role.STATE,
    "moment": Role.MOMENT,
}
_LAYERS = ("nn", "block")
_OPTIMIZERS = ("optim",)
_INITIALIZERS = (
    "The initializer is a function that is given a key, a shape and a dtype: `zeros`, `normal(0.02)`, "
    "`lambda key, shape, dtype: 0.1 * jax.random.normal(key, shape, dtype)`."
)
ALLOWED = (
    "A declaration in setup is a statement of its own: `self.name = trainable(...)`, "
    "`state(...)` or a sub-layer (each may end in `if condition else None`), or a list of "
    "sub-layers `[Layer(...) for name in items]`."
)


class Declaring(Branches):
    """What the values mean that `setup` assigns."""

    def _what(self, call: ast.Call) -> Role | Reference | None:
        imported = self._reference(call)
        return self._role(call) or (imported and imported.reference)

    def _declares(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and (
            self._role(node) is not None
            or self._reference(node) is not None
            or (
                Role.OPTIMIZER in self.allowed_roles
                and self._reference(node, _OPTIMIZERS) is not None
            )
        )

    def _role(self, call: ast.Call) -> Role | None:
        return _ROLES.get(dotted(call.func) or "")

    def _reference(
        self, call: ast.Call, sections: Collection[str] = _LAYERS
    ) -> Import | None:
        imported = self.scope.imports.get(dotted(call.func) or "")
        if imported is None or imported.reference is None:
            return None
        return imported if imported.reference.section in sections else None

    def _declaration(self, name: str, value: ast.expr) -> Declaration | None:
        if self._is_counter(name, value):
            return None
        condition: Expression | None = None
        body = value
        match value:
            case ast.IfExp(test=test, body=ast.Constant(value=None), orelse=made) if (
                self._declares(made)
            ):
                contrary = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
                condition = self.scope.expression(contrary)
                body = made
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
            condition = self.scope.expression(value.test)
            body = value.body
        if isinstance(body, ast.Call) and self._declares(body):
            role = self._role(body)
            if role is None and (made := self._reference(body, _OPTIMIZERS)):
                return self._optimizer(name, body, made, condition)
            if role is None:
                return self._sub_layer(name, body, condition)
            return self._array(role, name, body, condition)
        match value:
            case ast.ListComp(elt=ast.Call() as call) if self._reference(call):
                return self._several(name, value, call)
            case ast.List(elts=[ast.Call() as call, *_]) if self._alike(value.elts):
                declaration = self._sub_layer(name, call, None)
                return declaration and replace(declaration, several=True)
        for node in ast.walk(value):
            if self._declares(node):
                self.source.report(
                    node,
                    "a declaration cannot be part of an expression",
                    ALLOWED,
                    fix=as_dictionary(self.source, name, value)
                    or self._of_each_leaf(value),
                )
                return None
        if Role.DERIVED not in self.allowed_roles:
            hint = f"Use {self._words()}, or a local: `{name} = ...`."
            fix = moment(self.source, self.method, name, value, self.scope.imports)
            fix = fix or derived(self.source, self.method, value)
            if isinstance(value, ast.Call) and self._reference(value, _OPTIMIZERS):
                hint = "An optimizer is made once for all weights: in `setup_tree(self, params)`."
                fix = None
            self.source.report(value, f"self.{name} is no declaration", hint, fix=fix)
            return None
        check_derived(
            self.source,
            name,
            value,
            self.scope.imports,
            given_key=self._is_given_key(),
        )
        return Declaration(Role.DERIVED, name, value=self.scope.expression(value))

    def _is_given_key(self) -> bool:
        """Whether `setup` has a key besides self, and declares no weights in words of the language."""
        keys = [a for a in walk(self.method.args) if isinstance(a, ast.arg)]
        given = any(draws(self.method, a.arg) for a in keys if a.arg != "self")
        return given and not any(
            isinstance(n, ast.Name) and n.id in _ROLES for n in walk(self.method)
        )

    def _is_counter(self, name: str, value: ast.expr) -> bool:
        """Report what counts steps, where it is no declaration, a tree of counts, or of few bits."""
        if not self.allowed_roles or Role.TRAINABLE in self.allowed_roles:
            return False  # of a schedule, or a layer
        role = self._role(value) if isinstance(value, ast.Call) else None
        kept = role is not Role.MOMENT or (
            any(map(_names_integers, walk(value)))
            and not takes_trees(self.source, self.method)
        )
        if role in self.allowed_roles and kept:
            return False
        fix = counted(self.source, self.method, name)
        if fix is not None:
            self.source.report(
                value,
                f"self.{name} counts the steps",
                "The number of the step is `self.step`, from 1.",
                fix=fix,
            )
            self.counts.append(value)
        return fix is not None

    def _of_each_leaf(self, value: ast.expr) -> Fix | None:
        statements = [s for s in self.method.body if isinstance(s, ast.Assign)]
        found = next((s for s in statements if s.value is value), None)
        if found is None or Role.SUB_LAYER in self.allowed_roles:
            return None
        return of_each_leaf(self.source, self.method, found)

    def _sub_layer(
        self, name: str, call: ast.Call, condition: Expression | None
    ) -> Declaration | None:
        if Role.SUB_LAYER not in self.allowed_roles:
            self.source.report(call, "a sub-layer cannot be declared here")
            return None
        imported = self._reference(call)
        assert imported is not None
        return Declaration(
            Role.SUB_LAYER, name, condition=condition, reference=imported.reference
        )

    def _optimizer(
        self, name: str, call: ast.Call, made: Import, condition: Expression | None
    ) -> Declaration | None:
        if condition is not None:
            self.source.report(
                call,
                "an optimizer is made whatever hyperparameters say",
                "Choose among its arguments, or take the optimizer as a field: "
                f"`{name}: SubOptimizer`.",
            )
            return None
        return Declaration(Role.OPTIMIZER, name, reference=made.reference)

    def _alike(self, items: list[ast.expr]) -> bool:
        """Whether the items of a list are sub-layers of one kind."""
        made = [self._reference(i) if isinstance(i, ast.Call) else None for i in items]
        kinds = {None if m is None else m.reference for m in made}
        return len(kinds) == 1 and None not in kinds

    def _several(
        self, name: str, value: ast.ListComp, call: ast.Call
    ) -> Declaration | None:
        declaration = self._sub_layer(name, call, None)
        return declaration and replace(declaration, several=True)

    def _in_its_word(self, role: Role, call: ast.Call) -> Fix | None:
        """A state of an optimizer is a moment, a moment of a layer a state."""
        other = {Role.STATE: Role.MOMENT, Role.MOMENT: Role.STATE}.get(role)
        if other not in self.allowed_roles:
            return None
        return declared_as(self.source, call, other.value)

    def _array(
        self, role: Role, name: str, call: ast.Call, condition: Expression | None
    ) -> Declaration | None:
        if role not in self.allowed_roles:
            fix, hint = self._in_its_word(role, call), f"Use {self._words()}."
            once = kept_once(self.source, self.method) if role is Role.STATE else None
            if once and fix:
                fix = once
                hint = "What is kept once for all leaves is declared in `setup_tree(self, params)`."
            self.source.report(
                call, f"{role.value}(...) cannot be declared here", hint, fix=fix
            )
            return None
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                self.source.report(argument, "arguments are given one by one")
                return None
        if len(call.args) == 1 and is_initial_array(call, self.scope.imports):
            return None
        if check_alone(self.source, self.method, call):
            return None
        arguments = list(call.args)
        keywords = {k.arg: k.value for k in call.keywords}
        if "dtype" in keywords:
            arguments.append(keywords.pop("dtype"))
        if role is Role.MOMENT and condition is not None:
            self._check_condition(condition, call)
        whole = role is Role.MOMENT and not keywords and len(call.args) == 1
        if whole and not is_initializer(call.args[0], self._meanings()):
            first, *rest = map(self.scope.expression, arguments)
            given = rest[0] if rest and not rest[0].is_none else None
            return Declaration(
                role, name, value=first, dtype=given, condition=condition
            )
        dtype = arguments[2] if role is Role.TRAINABLE and len(arguments) == 3 else None
        if dtype is not None and not names_complex(dtype):
            shape, end = arguments[1], self.source.end
            self.source.report(
                dtype,
                "a weight has the dtype that `init` is given",
                "Leave it out, or write `jnp.complex64` for complex numbers, which are in the "
                "precision of that dtype.",
                fix=Fix((self.source.replace(end(shape), end(dtype), ""),)),
            )
            return None
        if role is Role.TRAINABLE and not check_complex_initializer(self.source, call):
            return None
        with_dtype = 3
        at_least = keywords.pop("at_least", None) if role is Role.STATE else None
        if keywords or not 2 <= len(arguments) <= with_dtype - bool(at_least):
            expected = f"{role.value}(initializer, shape"
            expected += ")" if role is Role.TRAINABLE else ", dtype=None)"
            if role is Role.STATE:
                expected += f" or {expected.replace('dtype=None', 'at_least=dtype')}"
            fix = shaped(self.source, self.method, call)
            arrays = len(arguments) == 1 and not keywords and role is Role.TRAINABLE
            arrays = arrays and not is_initializer(arguments[0], self._meanings())
            if arrays:
                imports = self.scope.imports
                fix = fix or drawn_in_locals(self.source, self.method, call, imports)
            hint = _INITIALIZERS if arrays and fix is None else ""
            self.source.report(call, f"expected {expected}", hint, fix=fix)
            return None
        if role is not Role.MOMENT:
            self._check_lambda(arguments[0])
        first, shape, *dtype = map(self.scope.expression, arguments)
        return Declaration(
            role,
            name,
            initializer=first,
            shape=shape,
            dtype=dtype[0] if dtype and not dtype[0].is_none else None,
            at_least=self.scope.optional(at_least),
            condition=condition,
        )

    def _meanings(self) -> dict[str, str]:
        return {n: found.meaning for n, found in self.scope.imports.items()}

    def _check_lambda(self, initializer: ast.expr) -> None:
        """Report a lambda that cannot be called as initializers are."""
        if not isinstance(initializer, ast.Lambda):
            return
        given = initializer.args
        if len(given.posonlyargs) + len(given.args) != 3:
            self.source.report(
                initializer,
                "an initializer takes a key, a shape, and a dtype",
                "Write `lambda key, shape, dtype: ...`.",
            )

    def _words(self) -> str:
        return " and ".join(
            f"{word}(...)" for word, r in _ROLES.items() if r in self.allowed_roles
        )

    def _check_condition(self, condition: Expression, call: ast.Call) -> None:
        """A moment is there for all weights or for none: its tree is that of the weights."""
        if condition.reads(Origin.INPUT, Origin.LOCAL):
            self.source.report(
                call,
                "whether a moment is there may depend on hyperparameters only",
                "Where it depends on the weight, give it the shape (0,) instead.",
                fix=chosen_by_leaf(self.source, call),
            )


def _names_integers(node: ast.AST) -> bool:
    """Whether a dtype of integers is named."""
    name = (dotted(node) or "") if isinstance(node, ast.expr) else ""
    return name.rpartition(".")[2].startswith(("int", "uint"))
