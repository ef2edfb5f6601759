"""What a constructor says: hyperparameters, layers, weights and derived values."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.changes.changed_buffers import is_deep
from mlax_scaffold.conversion.declarations.building import Builder
from mlax_scaffold.conversion.declarations.declared_shapes import DeclaredShapes
from mlax_scaffold.conversion.declarations.initializing import (
    fills_parts,
    initialized,
    is_filling,
)
from mlax_scaffold.conversion.declarations.lists import Lists
from mlax_scaffold.conversion.declarations.modules import Modules
from mlax_scaffold.conversion.declarations.parameters import (
    documented,
)
from mlax_scaffold.conversion.declarations.tied_weights import tied
from mlax_scaffold.conversion.definitions.derived_values import DerivedValues
from mlax_scaffold.conversion.forms.frozen_weights import freezes
from mlax_scaffold.conversion.forms.initial_rules import Rule
from mlax_scaffold.conversion.shapes.static_arrays import numpy_of
from mlax_scaffold.conversion.source.arguments_of import arguments_given
from mlax_scaffold.conversion.source.assigned import assigned_in_calls
from mlax_scaffold.conversion.source.requirements import plain_text, refusal, told_test
from mlax_scaffold.conversion.source.trees import (
    both,
    expression,
    is_name,
    is_none,
    literal,
    name,
    names,
    negated,
    replaced,
    self_attribute,
    statement,
    targets,
    without_docstring,
)
from mlax_scaffold.conversion.source.vocabulary import KEYS, Surroundings
from mlax_scaffold.conversion.source.walking import cloned, walk

_QUIET = ("super", "print", "warnings.warn")


class Constructor(DerivedValues):
    """Reads `__init__` of a class, and what it calls of its own."""

    def __init__(self, builder: Builder):
        self.builder = builder
        self.translator = builder.translator
        self.modules = Modules(builder)
        self.lists = Lists(builder, self.modules)
        self.parameters: dict[str, str] = {}
        self.bound: set[str] = set()
        self.ruled: list[tuple[Rule, set[str]]] = []
        """What fills the weights of all layers, and the attributes that it has filled."""
        self.drawn: dict[str, ast.expr] = {}
        """Locals that hold random numbers, which are written where weights begin with them."""
        self.assigned: set[str] = assigned_in_calls(builder.node)

    def read(self, function: ast.FunctionDef | None) -> None:
        """Read the constructor; a class without one has none of it all."""
        if function is None:
            return
        self._fields(function)
        around = self.translator.around
        around.static = True
        around.keys |= set(KEYS) | {
            a.arg for a in arguments_given(function) if a.arg in KEYS
        }
        body = without_docstring(function.body)
        self.lists.prepare(body)
        for node in body:
            self.statement(node, None)
        self._complete()
        around.static = False
        # What is local to the constructor means nothing elsewhere.
        self.translator.around = Surroundings(
            attributes=around.attributes,
            keys=around.keys,
            makers={k: v for k, v in around.makers.items() if k.startswith("self.")},
            items=around.items,
            held=around.held,
        )

    # Statements.

    def statement(self, node: ast.stmt, condition: ast.expr | None) -> None:
        """Read one statement, which is run where the condition holds."""
        DeclaredShapes(self.builder).visit(node)
        if self._part_changed(node):
            return
        match node:
            case ast.Expr(value=ast.Call() as call):
                self._call(call, condition)
            case ast.Expr() | ast.Pass() | ast.Import() | ast.ImportFrom():
                pass
            case ast.Assert(test=test, msg=message):
                self._require(test, message)
            case ast.Assign(targets=[target], value=value):
                self._assign(node, target, value, condition)
            case ast.Assign(targets=several, value=value):
                for target in several:
                    self._assign(node, target, value, condition)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(node, target, value, condition)
            case ast.AnnAssign():
                pass
            case ast.If():
                self._branch(node, condition)
            case ast.For():
                self._loop(node, condition)
            case ast.With(body=body):
                for part in body:
                    self.statement(part, condition)
            case ast.Return(value=None) | ast.FunctionDef():
                # What a function in it does is done where it is called.
                pass
            case ast.Raise() if condition is not None:
                self._local(refusal(node, condition), condition)
            case ast.AugAssign() if self.lists.extended(node, condition):
                pass
            case ast.AugAssign(target=ast.Attribute() as target, op=op) if (
                place := self_attribute(target)
            ):
                read = expression(f"self.{place}")
                value = ast.BinOp(read, op, node.value)
                self.attribute(node, place, ast.copy_location(value, node), condition)
            case _:
                self._local(node, condition)

    def _require(self, test: ast.expr, message: ast.expr | None) -> None:
        text = message if message is not None else ast.Constant(told_test(test))
        self.builder.setup.append(
            ast.Expr(
                ast.Call(
                    name("@word:require"),
                    [self.translator.expression(test), plain_text(text, test)],
                    [],
                )
            )
        )

    def _call(self, call: ast.Call, condition: ast.expr | None) -> None:
        func, builder = call.func, self.builder
        text = ast.unparse(func)
        if text.startswith(_QUIET) or text.endswith(".__init__"):
            return
        attribute = self_attribute(func)
        if attribute == "register_buffer" and call.args:
            place = str(getattr(call.args[0], "value", ""))
            if len(call.args) > 1:
                value = replaced(call.args[1], self.drawn)
                self._begin_where_not(value, condition)
                self._buffer(call, place, value)
            return
        if attribute == "register_parameter" and len(call.args) == 2:
            place = str(getattr(call.args[0], "value", ""))
            self.attribute(call, place, call.args[1], condition)
            return
        if isinstance(func, ast.Attribute) and func.attr == "requires_grad_":
            self._frozen(call)
            return
        if self._ruled(ast.copy_location(ast.Expr(call), call)):
            return
        if self._begins_otherwise(call):
            return
        if attribute is not None:
            own = next(
                (
                    f
                    for f in builder.node.body
                    if isinstance(f, ast.FunctionDef) and f.name == attribute
                ),
                None,
            )
            if own is not None and not call.args:
                for part in without_docstring(own.body):
                    self.statement(part, condition)
                return
        if self.lists.appended(call, condition):
            return
        if initialized(builder, call, condition) or self._fills_weight(call):
            return
        builder.notes.refuse(
            call,
            f"`{ast.unparse(call)}` has no counterpart in setup",
            "declare what it does with `trainable`, `state` or a layer",
        )

    def _assign(
        self,
        node: ast.stmt,
        target: ast.expr,
        value: ast.expr,
        condition: ast.expr | None,
    ) -> None:
        value = replaced(value, self.drawn) if self.drawn else value
        attribute = self_attribute(target)
        if attribute is not None:
            self.attribute(node, attribute, value, condition)
            return
        if isinstance(target, ast.Attribute) and self._of_part(
            node, target, value, condition
        ):
            return
        if isinstance(target, ast.Name) and self._kept_before(target.id, value):
            return
        if isinstance(target, ast.Name) and self._draws(value):
            self.drawn[target.id] = value
            return
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                if names(value) & set(targets(target)):
                    # `a, b = b, a` is one statement.
                    self._local(node, condition)
                    return
                for one, part in zip(target.elts, value.elts, strict=True):
                    single = ast.copy_location(ast.Assign([one], part), node)
                    self._assign(single, one, part, condition)
                return
            if self._keys(target, value) or self._taken_apart(target, value):
                return
        if isinstance(target, ast.Name):
            if self._keys(target, value):
                return
            if self._named(node, target.id, value, condition):
                return
            if self.lists.begun(target.id, value, condition):
                return
        self._local(node, condition)

    def _of_part(
        self,
        node: ast.stmt,
        target: ast.Attribute,
        value: ast.expr,
        condition: ast.expr | None,
    ) -> bool:
        """Whether a statement changes what a layer or a weight has; what has no counterpart is told."""
        if not any(self_attribute(part) for part in walk(target)):
            return False
        if target.attr == "requires_grad":
            self._frozen(node)
        elif target.attr in ("weight", "bias") and self._is_weight(value):
            self._left_out(node)
        elif not tied(self.modules, node, target, value, condition):
            self.builder.notes.refuse(
                node,
                f"`{ast.unparse(node)}` changes a part of the object, which has no counterpart",
                "declare the part as it is to be",
            )
        return True

    def _frozen(self, node: ast.AST) -> None:
        self.builder.notes.remark(
            node,
            f"`{ast.unparse(node)}` is left out: these weights are trained here",
            "leave them out by the mask of an optimizer, or declare them with `state`",
        )

    def attribute(
        self, node: ast.AST, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> None:
        builder, around = self.builder, self.translator.around
        value = builder.begun_like(node, attribute, value)
        if isinstance(value, ast.IfExp):
            test = self.translator.expression(value.test)
            if is_none(value.orelse):
                inner = _and(condition, test)
                self.attribute(node, attribute, value.body, inner)
                return
            if is_none(value.body):
                self.attribute(
                    node, attribute, value.orelse, _and(condition, negated(test))
                )
                return
            if self.modules.is_module(value.body) or self.modules.is_module(
                value.orelse
            ):
                sides = value.body, value.orelse
                self.modules.choice(attribute, test, *sides, condition)
                return
            if isinstance(literal(value.orelse), int | float) and self._weight(
                node, attribute, value.body, _and(condition, test)
            ):
                # `nn.Parameter(torch.ones(1)) if learned else 1.0`
                read = expression(f"self.{attribute}")
                around.attributes[attribute] = ast.IfExp(
                    cloned(test), read, value.orelse
                )
                return
        # Under a name of setup it is what a statement made of it.
        known = around.locals.get(attribute)
        changed = known is not None and self_attribute(known) != attribute
        if is_name(value, attribute) and attribute in builder.fields and not changed:
            return
        if self._made_by_method(node, attribute, value, condition):
            return
        varies = self._varies(attribute, value)
        if not varies and self._same(attribute, value, condition):
            return
        if is_none(value):
            self._none(node, attribute, condition)
            return
        if self.lists.finished(attribute, value, condition):
            return
        if self._replaces(node, attribute, value, condition):
            return
        if condition is not None and (made := self.modules.function(value)):
            self._derived(attribute, made, condition)
            return
        read = around.attributes.get(attribute)
        if self.modules.declared(attribute, value, condition):
            known = builder.attributes.get(attribute)
            again = around.attributes.get(attribute) is read
            if again and known is not None and known.kind in ("layer", "layers"):
                around.attributes.pop(attribute, None)
            return
        if self._weight(node, attribute, value, condition):
            builder.begun_as[attribute] = value
            around.attributes.pop(attribute, None)
            return
        made = self.translator.expression(value)
        if condition is None and self._is_tensor(made):
            self._buffer(node, attribute, value)
            return
        self._derived(attribute, self._initializer(made), condition)

    def _branch(self, node: ast.If, condition: ast.expr | None) -> None:
        if isinstance(node.body[-1], ast.Raise):
            self.statement(
                node.body[-1], _and(condition, self.translator.expression(node.test))
            )
            for part in node.orelse:
                self.statement(part, condition)
            return
        touches = any(
            self_attribute(inner) is not None
            for part in walk(node)
            if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load)
            for inner in walk(part)
        ) or any(
            isinstance(p, ast.Call)
            and (
                self_attribute(p.func) is not None
                or is_deep(p.func)
                or self.lists.appends(p)
                or is_filling(p)
            )
            for p in walk(node)
        )
        touches = touches or any(
            (
                isinstance(p, ast.Assign)
                and (self.modules.is_module(p.value) or self.lists.lists(p.value))
            )
            or (isinstance(p, ast.AugAssign) and self.lists.holds(p.target))
            for p in walk(node)
        )
        if not touches:
            self._local(node, condition)
            return
        test = self.translator.expression(node.test)
        if self.modules.branched(node, test):
            return
        for part in node.body:
            self.statement(part, _and(condition, test))
        for part in node.orelse:
            self.statement(part, _and(condition, negated(test)))

    def _loop(self, node: ast.For, condition: ast.expr | None) -> None:
        if self.lists.looped(node, condition):
            return
        text = ast.unparse(node.iter)
        if freezes(node):
            self._frozen(node)
            return
        if self._ruled(node):
            return
        filled = "self." in text and fills_parts(node)
        if "self.modules()" in text or "parameters()" in text or filled:
            self.builder.notes.remark(
                node,
                f"the loop over `{text}` is left out",
                "weights begin as their declarations say: give them initializers there",
            )
            return
        self._local(node, condition)


def _and(left: ast.expr | None, right: ast.expr) -> ast.expr:
    return both(left, right) or right


__all__ = ["Constructor", "documented", "numpy_of", "statement"]
