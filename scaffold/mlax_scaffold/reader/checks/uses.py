"""Finds uses of `self` that a pure function has no counterpart for, such as a layer as a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from mlax_scaffold.errors import Fix
from mlax_scaffold.model.reserved import ENTRY_POINT
from mlax_scaffold.model.unparsing import unparsed
from mlax_scaffold.model.walking import walk
from mlax_scaffold.reader.checks.handed_on import check_handed
from mlax_scaffold.reader.checks.lost_items import check_lost_items
from mlax_scaffold.reader.checks.same_containers import check_same_containers
from mlax_scaffold.reader.checks.sequences import PASSED, Sequences
from mlax_scaffold.reader.constructs import construct, functions_of
from mlax_scaffold.reader.looping import (
    SEQUENCES,
    loop_layers,
    repeated,
)
from mlax_scaffold.reader.remedies import bodies
from mlax_scaffold.reader.remedies.bodies import in_place
from mlax_scaffold.reader.remedies.helpers import as_method
from mlax_scaffold.reader.remedies.named_attributes import declared_by_their_names
from mlax_scaffold.reader.remedies.reductions import looped
from mlax_scaffold.reader.remedies.rows import one_by_one, one_of_several
from mlax_scaffold.reader.remedies.unrolling import unrolled
from mlax_scaffold.reader.source import (
    compares_with_none,
    dotted,
    indexed_attribute,
    self_attribute,
)

RAW = ("trainables", "non_trainables", "apply")
"""Attributes of an initialized layer that only a block may use."""

OF_OPTIMIZER = ("state", "apply", "initial_state", "keeps_weights")
"""Attributes of an initialized optimizer that `step` may use."""

HANDED_ON = ("value", "value_and_gradients")
"""Inputs of a step that may be others for an initialized optimizer."""

GIVEN = ("key", "inference_mode", "x", "trainables", "non_trainables", "hyperparams")
"""What the generated code itself hands to a layer."""

_LAYERS = ("layer", "sub-layer")
_ARRAYS = ("state", "moment")


class UseChecker(Sequences):
    """Walks one method. `attributes` maps each attribute of self to what it is.

    `is_object` says that self is an object in generated code, too; `containers` are the attributes that
    are lists or dictionaries of members, `declared` the lists of layers that setup declares.
    """

    def check(self) -> None:
        """Report every finding of the method."""
        for statement in self.method.body:
            for node in walk(statement):
                self._node(node)
        held = {
            name: members
            for name, members in self.containers.items()
            if self.attributes.get(name) in _ARRAYS
        }
        check_lost_items(self.source, self.method, held)
        check_same_containers(self.source, self.method, held)

    def _node(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id="self", ctx=ast.Load()) if not self.object:
                if not isinstance(self.parents[node], ast.Attribute):
                    self._self(node)
            case ast.Name(id="_", ctx=ast.Load()):
                self.source.report(
                    node,
                    "`_` is bound to what is not used, and cannot be read",
                    "Give it a name.",
                )
            case ast.Name(id=name) if name == PASSED and self.method.args.kwarg:
                self._passed(node)
            case ast.Attribute(ctx=ast.Load()):
                self._read(node)
            case ast.Attribute(ctx=ast.Store()):
                self._stored(node)
            case ast.Subscript(ctx=ast.Store()) if (
                indexed_attribute(node) in self.containers
            ):
                self._item(node)
            case ast.Subscript(ctx=ast.Store()) if _root(node) == "self":
                self.source.report(
                    node,
                    f"`{unparsed(node)}` cannot be assigned in place",
                    "Write `self.name = self.name.at[index].set(value)`.",
                    fix=self._in_place(node),
                )
            case ast.Call():
                self._call(node)
            case ast.For() | ast.comprehension():
                self._loop(node)
            case ast.JoinedStr():
                text = ast.get_source_segment(self.source.text, node) or ""
                if "\n" in text and "r" in text[:2].lower():
                    self.source.report(node, "a raw f-string cannot span lines")
        if isinstance(node, ast.stmt | ast.match_case):
            self._statement(node)

    def _in_place(self, target: ast.Subscript) -> Fix | None:
        statement = self.parents[target]
        name = self_attribute(target.value)
        kept = name is None or self.attributes.get(name) in ("state", "moment")
        if isinstance(statement, ast.stmt) and kept:
            return in_place(self.source, statement, target)
        return None

    def _self(self, node: ast.Name) -> None:
        told, fix = "`self` itself cannot be a value", None
        match self.parents[node]:
            case ast.Call(func=called) if called is node:
                told = "`self` is called by the name of the method that is meant"
                hint = "Write `self.forward(x)`."
                if "forward" in self.attributes:
                    fix = Fix((self.source.edit(node, "self.forward"),))
            case ast.Call(func=ast.Name(id="getattr")) as call if (
                fix := declared_by_their_names(self.source, call)
            ):
                told = "an attribute has no computed name in a generated function"
                hint = "Keep them in a dictionary under their names."
            case ast.Call(func=ast.Name(id=called)):
                hint = f"Give `{called}` what it reads: `{called}(x, self.name)`."
            case _:
                hint = "Use its attributes: generated functions have no self."
        self.source.report(node, told, hint, fix=fix)

    def _read(self, node: ast.Attribute) -> None:
        name = self_attribute(node)
        what = self.attributes.get(name or "")
        parent = self.parents[node]
        called = isinstance(parent, ast.Call) and parent.func is node
        if what in SEQUENCES and not self._may_stand(node, parent):
            kind = "layer" if what == "layers" else "transformation"
            self.source.report(
                node,
                f"`self.{name}` can be looped over, and nothing else",
                f"Write `for {kind} in self.{name}:`, with `enumerate`, `zip` and "
                f"`reversed` too; `len(self.{name})` is their number.",
                fix=unrolled(self.source, node)
                or looped(self.source, node)
                or self._one_of_several(node, what),
            )
        elif what in ("container", "static container") and not self._in_place_of_one(
            node, parent
        ):
            self.source.report(
                node,
                f"`self.{name}` holds layers or weights, and is no value by itself",
                f"Loop over it, or take one out of it: `self.{name}[index]`; "
                f"`len(self.{name})` is their number.",
                fix=unrolled(self.source, node),
            )
        elif what == "static layer":
            if not isinstance(parent, ast.Attribute) or parent.attr in RAW:
                self._without_weights(node, f"self.{name}")
        elif what == "optimizer" and not called:
            if not isinstance(parent, ast.Attribute) or parent.attr not in OF_OPTIMIZER:
                self.source.report(
                    node,
                    f"`self.{name}` is an optimizer, which can be called",
                    f"Write `self.{name}(grads, params)`; `self.{name}.state` is its "
                    f"state, `self.{name}.initial_state(params)` the first one, and "
                    f"`self.{name}.apply(grads, state, params)` a pure call.",
                )
        elif what in _LAYERS and not called:
            self._uncalled_layer(node, f"self.{name}", parent, what == "layer")
        elif what == "stored":
            self._stored_state(node, parent)
        elif what in ("key", "keys", "value_and_gradients") and not called:
            if what == "value_and_gradients" and compares_with_none(parent):
                return
            remedy = {"key": bodies.called, "value_and_gradients": bodies.as_lambda}
            self.source.report(
                node,
                f"`self.{name}` is called: `self.{name}(...)`",
                fix=remedy[what](self.source, node) if what in remedy else None,
            )

    def _one_of_several(self, node: ast.expr, what: str) -> Fix | None:
        if what != "optimizers":
            return None
        return one_of_several(self.source, node, self.parents)

    def _without_weights(self, node: ast.expr, shown: str) -> None:
        here = "a method of the hyperparameters"
        hint = f"Only its own such methods are there: `{shown}.method(...)`."
        if self.method.name == "setup":
            here = "setup"
            hint = (
                f"Only its hyperparameters are there: `{shown}.features`, for example."
            )
        self.source.report(node, f"`{shown}` has no weights in {here}", hint)

    def _stored_state(self, node: ast.Attribute, parent: ast.AST) -> None:
        states = [n for n, what in self.attributes.items() if what == "state"]
        if not isinstance(parent, ast.Attribute) or parent.attr not in states:
            shown = ", ".join(f"`self.stored.{name}`" for name in states)
            self.source.report(
                parent if isinstance(parent, ast.Attribute) else node,
                "`self.stored` gives states in the dtype that they are stored in",
                f"There is {shown}." if states else "This layer declares no state.",
            )

    def _uncalled_layer(
        self, node: ast.expr, shown: str, parent: ast.AST, raw: bool
    ) -> None:
        match parent:
            case ast.Attribute(attr=attribute) if raw or attribute not in RAW:
                return
            case ast.Attribute():
                self.source.report(
                    parent,
                    f"`{unparsed(parent)}` is there for the layers of a block only",
                    f"Call the sub-layer: `{shown}(x)`.",
                )
                return
            case ast.Compare(ops=[ast.Is() | ast.IsNot()], left=left) if left is node:
                return
        if self.attributes.get(self_attribute(node) or "") == "sub-layer":
            return  # a function of its input
        if isinstance(parent, ast.Call) and node in functions_of(
            parent, construct(parent)
        ):
            return  # of one that may change states: what calls it threads them
        self.source.report(
            node,
            f"`{shown}` is a layer, which can be called, and nothing else",
            f"Write `{shown}(x)`.",
            fix=as_method(self.source, node, parent)
            or unrolled(self.source, node)
            or one_by_one(self.source, node, self.parents),
        )

    def _loop(self, node: ast.For | ast.comprehension) -> None:
        """The variables of a loop over layers are layers."""
        for name, what in loop_layers(node, self.attributes):
            self._loop_variable(node, name, what)

    def _loop_variable(
        self, node: ast.For | ast.comprehension, name: str, what: str
    ) -> None:
        if isinstance(node, ast.For):
            body: list[Any] = list(node.body)
        else:
            body = [*repeated(self.parents[node]), *(node.ifs)]
        for part in (n for s in body for n in walk(s)):
            if not isinstance(part, ast.Name) or part.id != name:
                continue
            parent = self.parents[part]
            if isinstance(part.ctx, ast.Store):
                self.source.report(part, f"`{name}` is the layer of this loop")
            elif isinstance(parent, ast.Call) and self.method.name == "setup":
                self._without_weights(part, name)
            elif not (isinstance(parent, ast.Call) and parent.func is part):
                self._uncalled_layer(part, name, parent, raw=False)
            elif what == "optimizers" and (
                len(parent.args) != 2 or parent.keywords or _starred(parent)
            ):
                self.source.report(
                    parent, f"`{name}` is called as `{name}(grads, params)`"
                )

    def _stored(self, node: ast.Attribute) -> None:
        if self_attribute(node) is None and _root(node) != "self":
            return
        outer, name = self._assigning(node), unparsed(node)
        match outer:
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign(value=ast.expr()):
                return
        hint = f"Bind a name, and write `{name} = ...` after it."
        self.source.report(node, f"`{name}` cannot be assigned in this way", hint)

    def _call(self, node: ast.Call) -> None:
        if dotted(node.func) == "require":
            if not isinstance(self.parents[node], ast.Expr):
                self.source.report(node, "`require(...)` is a statement of its own")
            return
        name = self_attribute(node.func)
        what = self.attributes.get(name or "")
        one_of = self.attributes.get(indexed_attribute(node.func) or "")
        if self.method.name == "setup" and one_of == "layers":
            self._without_weights(node.func, unparsed(node.func))
        elif what == "key" and (node.args or node.keywords):
            self.source.report(node, "`self.key()` takes nothing")
        elif what == "keys" and (
            len(node.args) != 1 or node.keywords or _starred(node)
        ):
            self.source.report(node, "`self.keys(n)` takes one number")
        elif what == "optimizer" and (
            len(node.args) != 2
            or any(keyword.arg not in HANDED_ON for keyword in node.keywords)
            or _starred(node)
        ):
            self.source.report(
                node, f"`self.{name}` is called as `self.{name}(grads, params)`"
            )
        elif self.attributes.get(name or "") in _LAYERS:
            shown = unparsed(node.func)
            named = {k.arg for k in node.keywords} - {*GIVEN, ENTRY_POINT, None}
            if not node.args and not named:
                self.source.report(node, f"`{shown}` takes an input: `{shown}(x)`")
            for keyword in node.keywords:
                if keyword.arg is None and not self._is_passed(keyword.value):
                    self.source.report(
                        keyword.value, "the inputs of a layer are named one by one"
                    )
            check_handed(self.source, node, GIVEN)
        elif isinstance(node.func, ast.Name) and node.func.id in self.items:
            check_handed(self.source, node, ("key", "inference_mode"))

    def _is_passed(self, node: ast.expr) -> bool:
        known = self.method.args.kwarg is not None
        return known and isinstance(node, ast.Name) and node.id == PASSED

    def _is_layer(self, node: ast.Call) -> bool:
        name = self_attribute(node.func)
        return self.attributes.get(name or "") in (*_LAYERS, "optimizer")

    def _statement(self, node: ast.stmt | ast.match_case) -> None:
        """What is hoisted out of a statement must not notice that it is."""
        parts = [p for part in _header(node) for p in walk(part)]
        calls = [p for p in parts if isinstance(p, ast.Call) and self._is_layer(p)]
        if not calls:
            return
        if isinstance(node, ast.Match | ast.match_case):
            self._refuse(calls[0], "a match", "Bind the result to a name first.")
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if target is not None and any(c in walk(target) for c in calls):
                self._refuse(
                    target,
                    "the target of an assignment",
                    "Bind the result to a name first.",
                )
        for walrus in (p for p in parts if isinstance(p, ast.NamedExpr)):
            name = walrus.target.id
            uses = [p for p in parts if isinstance(p, ast.Name) and p.id == name]
            if len(uses) > 1:
                self.source.report(
                    walrus,
                    f"`{name}` is bound and used in the statement of a sub-layer's call",
                    "Bind it in a statement of its own, before this one.",
                )
        called = {self_attribute(c.func) for c in calls}
        for part in parts:
            match part:
                case ast.Attribute(attr="non_trainables", value=owner) if (
                    self_attribute(owner) in called
                ):
                    self.source.report(
                        part,
                        "the state of a layer cannot be read where the layer is called",
                        "Bind it to a name in a statement before this one.",
                    )

    def _refuse(self, node: ast.AST, where: str, hint: str) -> None:
        self.source.report(node, f"a sub-layer cannot be called in {where}", hint)


def _header(node: ast.stmt | ast.match_case) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.match_case | ast.ExceptHandler):
            yield child


def _starred(node: ast.Call) -> bool:
    return any(isinstance(a, ast.Starred) for a in node.args)


def _root(node: ast.expr) -> str | None:
    """The name that a chain of attributes and subscripts begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
