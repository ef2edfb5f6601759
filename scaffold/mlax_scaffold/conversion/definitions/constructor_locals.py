"""Locals of a constructor: what setup computes, and names of layers, initializers and keys."""

from __future__ import annotations

import ast

from mlax_scaffold.conversion.definitions.builder_methods import BuilderMethods
from mlax_scaffold.conversion.forms.rebound_names import BEFORE
from mlax_scaffold.conversion.lists.key_loops import number_of_keys
from mlax_scaffold.conversion.rows.array_leaves import draws
from mlax_scaffold.conversion.shapes.static_arrays import numpy_of
from mlax_scaffold.conversion.source.arguments_of import stored_names
from mlax_scaffold.conversion.source.trees import (
    expression,
    folded,
    is_name,
    name,
    self_attribute,
    targets,
)
from mlax_scaffold.conversion.source.walking import cloned, walk


class ConstructorLocals(BuilderMethods):
    """Reads them."""

    def _local(self, node: ast.stmt, condition: ast.expr | None) -> None:
        if self.lists.left_over(node):
            return
        if condition is not None:
            test = cloned(condition)
            node = ast.copy_location(ast.If(test, [node], []), node)
        around = self.translator.around
        bound = set(targets(node))
        hidden = {t: name(f"own_{t}") for t in bound if t in self.builder.fields}
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            self._begun(hidden)
        # All that setup computes is known before there are arrays.
        made = [numpy_of(s) for s in self.translator.statements([node])]
        for statement_ in made:
            self._without_weights(node, statement_)
            for part in walk(statement_):
                if isinstance(part, ast.Name) and part.id in hidden:
                    part.id = hidden[part.id].id
        for local in bound:
            around.locals.pop(local, None)
        around.locals.update(hidden)
        self._without_additions(node)
        self.builder.setup += made

    def _without_additions(self, node: ast.stmt) -> None:
        """Note what is put into a container of weights by a loop, which would be no weight here."""
        for part in walk(node):
            if not isinstance(part, ast.Subscript) or isinstance(part.ctx, ast.Load):
                continue
            whole: ast.expr = part
            while isinstance(whole, ast.Subscript):
                whole = whole.value
            known = self.builder.attributes.get(self_attribute(whole) or "")
            if known is not None and known.kind == "container":
                self.builder.notes.refuse(
                    node,
                    f"`{ast.unparse(part)}` is set beside the weights of `{ast.unparse(whole)}`",
                    "write all of them where it begins, in a dictionary or a comprehension",
                )
                return

    def _replaces(
        self, node: ast.AST, attribute: str, value: ast.expr, condition: ast.expr | None
    ) -> bool:
        """Whether a layer takes the place of another one, which is told."""
        known = self.builder.attributes.get(attribute)
        layer = known is not None and known.kind in ("layer", "layers", "sequence")
        if known is None or not layer or known.condition is not None:
            return False
        if not self.modules.is_module(value):
            return False
        before = "before" if condition is None else "where a condition holds"
        self.builder.notes.refuse(
            node,
            f"`self.{attribute}` is another layer {before}",
            "choose in one expression, as in `a if condition else b`, or declare both layers",
        )
        return True

    def _begin_where_not(self, value: ast.expr, condition: ast.expr | None) -> None:
        """Let a local that is bound under a condition alone be None elsewhere."""
        if condition is None or not isinstance(value, ast.Name):
            return
        setup = self.builder.setup
        for at, part in enumerate(setup):
            if value.id in targets(part):
                if isinstance(part, ast.If):
                    target = ast.Name(value.id, ast.Store())
                    made = ast.Assign([target], ast.Constant(None), lineno=0)
                    setup.insert(at, made)
                return

    def _begun(self, hidden: dict[str, ast.Name]) -> None:
        """Parameters that a statement changes, or may leave as they are, begin as locals."""
        around = self.translator.around
        for parameter, local in sorted(hidden.items()):
            before = around.locals.get(parameter)
            if before is not None and not is_name(before, local.id):
                target = ast.Name(local.id, ast.Store())
                self.builder.setup.append(ast.Assign([target], before, lineno=0))
                around.locals[parameter] = local

    def _kept_before(self, target: str, value: ast.expr) -> bool:
        """Whether a local stands for what a parameter is before it is bound anew."""
        known = self.translator.around.locals
        given = known.get(value.id) if isinstance(value, ast.Name) else None
        if not target.endswith(BEFORE) or given is None or not self_attribute(given):
            return False
        known[target] = given
        return True

    def _draws(self, value: ast.expr) -> bool:
        """Whether a value is an array of random numbers, which a weight begins with."""
        return draws(self.translator.origin, value) and not self.modules.is_module(
            value
        )

    def _keys(self, target: ast.expr, value: ast.expr) -> bool:
        """Whether keys are split, which a spec leaves to the library."""
        around = self.translator.around
        used = {n.id for n in walk(value) if isinstance(n, ast.Name)}
        called = [
            self.translator.origin.qualified(p.func) or ast.unparse(p.func)
            for p in walk(value)
            if isinstance(p, ast.Call)
        ]
        ends = ("random.split", "PRNGKey", "random.key", "fold_in", "PRNGSequence")
        splits = any(c.endswith(ends) for c in called)
        splits = splits or (
            ("iter" in called or "next" in called) and bool(used & around.keys)
        )
        # `rngs.params()`, `rngs()`
        splits = splits or any(c.partition(".")[0] in around.keys for c in called)
        if not splits:
            return False
        for bound in targets(target):
            around.keys.add(bound)
            around.locals[bound] = ast.Constant(None)
        if isinstance(value, ast.Call):
            number = self.translator.expression(number_of_keys(value))
            match target:
                case ast.Name(id=local):
                    self.lists.keys[local] = number
                case ast.Tuple(elts=[*others, ast.Starred(value=ast.Name(id=local))]):
                    # `first, *rest = split(key, 1 + depth)`
                    left = expression("n - m", n=number, m=ast.Constant(len(others)))
                    self.lists.keys[local] = folded(left)
        return True

    def _taken_apart(self, target: ast.Tuple, value: ast.expr) -> bool:
        """Whether a hyperparameter of several sizes is taken apart: `channels, height, width = size`."""
        made = self.translator.expression(value)
        field = self.builder.fields.get(self_attribute(made) or "")
        names = [e.id for e in target.elts if isinstance(e, ast.Name)]
        if field is None or len(names) != len(target.elts):
            return False
        for place, local in enumerate(names):
            part = expression("a[i]", a=made, i=ast.Constant(place))
            self.translator.around.locals[local] = part
        return True

    def _named(
        self, node: ast.stmt, target: str, value: ast.expr, condition: ast.expr | None
    ) -> bool:
        """A local that stands for a layer, an initializer, or a partial call."""
        around = self.translator.around
        kept = dict(around.makers), dict(self.modules.named), dict(around.locals)
        if not self._stands(target, value):
            return False
        before = [k for k in kept if target in k]
        if condition is not None and before:
            around.makers, self.modules.named, around.locals = kept
            self.builder.notes.refuse(
                node,
                f"`{ast.unparse(node)}` under a condition is not followed",
                "choose in one expression, as in `a if condition else b`, or declare both layers",
            )
        return True

    def _stands(self, target: str, value: ast.expr) -> bool:
        around = self.translator.around
        full = (
            self.translator.origin.qualified(value.func)
            if isinstance(value, ast.Call)
            else ""
        )
        if full == "functools.partial" and isinstance(value, ast.Call):
            inner = ast.Call(value.args[0], value.args[1:], value.keywords)
            if self.modules.is_constructor(inner):
                around.makers[target] = inner
                return True
        whole = self.translator.origin.qualified(value)
        if whole in self.modules.constructors:
            around.makers[target] = ast.Call(value, [], [])
            return True
        if self.modules.is_module(value) and target not in self.lists.candidates:
            self.modules.named[target] = value
            return True
        made = self.translator.expression(value)
        text = ast.unparse(made)
        if text.startswith("@word:") and "(key" not in text:
            around.locals[target] = made
            return True
        if self_attribute(made) in self.builder.fields and self._bound_once(target):
            # Axes of weights have the names of hyperparameters.
            around.locals[target] = made
            return True
        return False

    def _bound_once(self, target: str) -> bool:
        """Whether a local is another name of what it is bound to."""
        methods = [
            [n for part in m.body for n in stored_names(part)]
            for m in self.builder.node.body
            if isinstance(m, ast.FunctionDef)
        ]
        return all(bound.count(target) < 2 for bound in methods)
