"""`self.key()` becomes the PRNG key of its place, and each sub-layer's call gets its own.

The places that take a key are numbered in the order of evaluation. One place takes the key of `fwd` itself;
several take the parts of a split. A loop with places in its body is one place: its key is split among its
passes, and that of a pass among the places of the body. A `while` loop takes the keys of its passes one after
the other. A function that draws is given its key by what calls
it, which is the place (see `closures`), and splits it among its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from mlax_scaffold.model.definition import Kind, MethodRole
from mlax_scaffold.rewrite.chains import called_given, called_member, draws_at
from mlax_scaffold.rewrite.closures import KEY, key_renamed, takes, with_key
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.looping import Comprehension, generators, looped, made
from mlax_scaffold.rewrite.nodes import (
    code,
    expression,
    fresh,
    local_names,
    self_attribute,
    statement,
    with_prelude,
)
from mlax_scaffold.rewrite.traversal import Transformer, Visitor

PREPARE_KEY = "prepare_key"
"""What `prepare` draws from where `update` draws too, from the input `key`."""


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    scopes: list[_Scope] = []
    places = _places(function.body, context, {}, scopes)
    if not places and not scopes:
        return function
    root = "key"
    if context.method.role is MethodRole.PREPARE and context.draws_in("update"):
        root = PREPARE_KEY
    named = _Names(local_names(function) | context.taken)
    parts = named.parts(places, root, "keys")
    for scope in scopes:
        own = fresh("own_key", named.taken)
        inner = "own_keys"
        if len(scope.places) > 1:
            inner = fresh(inner, named.taken)
        named.of_pass[scope.node] = own
        named.splits[scope.node] = named.parts(scope.places, own, inner)
    function = cst.ensure_type(function.visit(_Keys(context, named)), cst.FunctionDef)
    return with_prelude(function, parts)


def applied_optimizer(call: cst.Call, context: Context) -> str | None:
    """The field `name` of the calls `self.name(...)` and `self.name.apply(...)` of an optimizer."""
    function = call.func
    if isinstance(function, cst.Attribute) and function.attr.value == "apply":
        owner = self_attribute(function.value)
        if owner in context.sub_optimizers:
            return owner
    name = self_attribute(function)
    return name if name in context.sub_optimizers else None


@dataclass(frozen=True)
class _Loop:
    """A loop with places in its body, or one of the `for`s of a comprehension."""

    node: cst.For | cst.While | cst.CompFor
    places: Sequence[_Place]
    name: str
    """What the key of a pass is called."""


@dataclass(frozen=True)
class _Scope:
    """A function that is given a key."""

    node: cst.FunctionDef | cst.Lambda
    places: Sequence[_Place]


_Place = cst.Call | _Loop


def _places(
    node: cst.CSTNode,
    context: Context,
    variables: Mapping[str, str],
    scopes: list[_Scope],
) -> list[_Place]:
    """The places of a method, or of the body of a loop, in the order of evaluation.

    The functions in it that are given a key are added to `scopes`.
    """
    collector = _Collector(context, variables, scopes)
    node.visit(collector)
    return collector.places


class _Collector(Visitor):
    # Calls are visited in the order of the text, and left after their arguments.
    def __init__(
        self, context: Context, variables: Mapping[str, str], scopes: list[_Scope]
    ):
        super().__init__()
        self.context = context
        self.variables = variables
        self.scopes = scopes
        self.places: list[_Place] = []

    def leave_Call(self, original_node: cst.Call) -> None:
        node = original_node
        name = self_attribute(node.func)
        field = self.variables.get(code(node.func))
        if (
            applied_optimizer(node, self.context) is not None
            or takes(node, KEY)
            or name in ("key", "keys")
            or (name in self.context.sub_layers and self.context.draws(name or ""))
            or (name in self.context.needs and self.context.needs[name or ""].draws)
            or (field is not None and self.context.draws(field))
            or called_given(node, self.context) is not None
            or (
                (member := called_member(node, self.context))
                and draws_at(member, self.context)
            )
        ):
            self.places.append(node)

    def _function(self, node: cst.FunctionDef | cst.Lambda) -> bool:
        first = (*node.params.posonly_params, *node.params.params)[:1]
        if not first or first[0].name.value != KEY:
            return True
        inner = _places(node.body, self.context, self.variables, self.scopes)
        self.scopes.append(_Scope(node, inner))
        for part in (node.params, *getattr(node, "decorators", ())):
            part.visit(self)
        return False

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return self._function(node)

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return self._function(node)

    def visit_For(self, node: cst.For) -> bool:
        context = self.context
        fields = {v: f for v, f in looped(node) if f in context.sequences}
        inner = _places(node.body, context, {**self.variables, **fields}, self.scopes)
        # What is looped over is evaluated once, and so is what comes after the passes.
        node.iter.visit(self)
        if inner:
            self.places.append(_Loop(node, inner, self._own_key(fields)))
        if node.orelse is not None:
            node.orelse.visit(self)
        return False

    def visit_While(self, node: cst.While) -> bool:
        inner = _places(node.body, self.context, self.variables, self.scopes)
        if inner:
            self.places.append(_Loop(node, inner, "own_key"))
        for part in (node.test, node.orelse):
            if part is not None:
                part.visit(self)
        return False

    def _own_key(self, fields: Mapping[str, str]) -> str:
        """What the key of a pass is called, by the layers that are the variables of a loop."""
        drawing = [v for v, f in fields.items() if self.context.draws(f)]
        return (*(f"{v}_key" for v in (*drawing, *fields)), "own_key")[0]

    def _comprehension(self, node: Comprehension) -> bool:
        context, variables = self.context, dict(self.variables)
        levels = generators(node)
        for level in levels:
            variables |= {v: f for v, f in looped(level) if f in context.sequences}
        inner = [
            p
            for part in made(node)
            for p in _places(part, context, variables, self.scopes)
        ]
        levels[0].iter.visit(self)
        if inner:
            for level in reversed(levels):
                fields = {v: f for v, f in looped(level) if f in context.sequences}
                inner = [_Loop(level, inner, self._own_key(fields))]
            self.places += inner
        return False

    def visit_ListComp(self, node: cst.ListComp) -> bool:
        return self._comprehension(node)

    def visit_SetComp(self, node: cst.SetComp) -> bool:
        return self._comprehension(node)

    def visit_DictComp(self, node: cst.DictComp) -> bool:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> bool:
        return self._comprehension(node)


@dataclass
class _Names:
    """The keys of all places."""

    taken: set[str]
    of: dict[cst.CSTNode, str] = field(default_factory=dict)
    """The key of each call, and the one that each loop splits among its passes."""
    of_pass: dict[cst.CSTNode, str] = field(default_factory=dict)
    """The name of the key of a pass of each loop."""
    splits: dict[cst.CSTNode, list[str]] = field(default_factory=dict)
    """What begins the body of each loop."""

    def parts(self, places: Sequence[_Place], key: str, several: str) -> list[str]:
        """Name the keys of some places that share one; what is to stand before them."""
        count = len(places)
        for number, place in enumerate(places):
            own = key if count == 1 else f"{several}[{number}]"
            if isinstance(place, cst.Call):
                self.of[place] = own
                continue
            self.of[place.node] = own
            name = fresh(place.name, self.taken)
            self.of_pass[place.node] = name
            inner = "own_keys"
            if len(place.places) > 1:
                inner = fresh(inner, self.taken)
            self.splits[place.node] = self.parts(place.places, name, inner)
        return [] if count <= 1 else [f"{several} = arrays.split_keys({key}, {count})"]


class _Keys(Transformer):
    def __init__(self, context: Context, named: _Names):
        super().__init__()
        self.context = context
        self.named = named

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        key = self.named.of.get(original_node)
        if key is None:
            return updated_node
        if takes(original_node, KEY):
            return with_key(updated_node, key)
        match self_attribute(original_node.func):
            case "key":
                return expression(self._required(key))
            case "keys":
                count = code(updated_node.args[0].value)
                definition = self.context.definition
                # Whether a layer needs the key that it is handed, it says itself.
                hands = any(method.applies for method in definition.methods)
                if definition.kind is Kind.LAYER or not hands:
                    key = self._required(key)
                return expression(f"arrays.split_keys({key}, {count})")
        argument = cst.Arg(keyword=cst.Name("key"), value=expression(key))
        return updated_node.with_changes(args=[*updated_node.args, argument])

    def _required(self, key: str) -> str:
        name = self.context.definition.name
        if self.context.definition.kind is Kind.OPTIMIZER:
            return f"trees.required({name!r}, key={key})"
        return f"checks.require_key({name!r}, {key})"

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        own = self.named.of_pass.get(original_node)
        if own is None:
            return updated_node
        params = key_renamed(updated_node.params, own)
        return with_prelude(
            updated_node.with_changes(params=params), self.named.splits[original_node]
        )

    def leave_Lambda(
        self, original_node: cst.Lambda, updated_node: cst.Lambda
    ) -> cst.Lambda:
        own = self.named.of_pass.get(original_node)
        if own is None:
            return updated_node
        return updated_node.with_changes(params=key_renamed(updated_node.params, own))

    def leave_CompFor(
        self, original_node: cst.CompFor, updated_node: cst.CompFor
    ) -> cst.CompFor:
        key = self.named.of.get(original_node)
        if key is None:
            return updated_node
        own, target = self.named.of_pass[original_node], code(updated_node.target)
        if isinstance(updated_node.target, cst.Tuple) and not updated_node.target.lpar:
            target = f"({target})"
        inner, ifs = updated_node.inner_for_in, updated_node.ifs
        for split in self.named.splits[original_node]:
            # A name is bound in a comprehension by a `for` over one.
            name, _, value = split.partition(" = ")
            bound = expression(f"[0 for {name} in [{value}]]")
            inner = cst.ensure_type(bound, cst.ListComp).for_in.with_changes(
                ifs=ifs, inner_for_in=inner
            )
            ifs = ()
        return updated_node.with_changes(
            target=expression(f"{own}, {target}"),
            iter=expression(f"arrays.keyed({key}, {code(updated_node.iter)})"),
            ifs=ifs,
            inner_for_in=inner,
        )

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        key = self.named.of.get(original_node)
        if key is None:
            return updated_node
        body = cst.ensure_type(updated_node.body, cst.IndentedBlock)
        before = map(statement, self.named.splits[original_node])
        own, target = self.named.of_pass[original_node], code(updated_node.target)
        if isinstance(updated_node.target, cst.Tuple) and not updated_node.target.lpar:
            target = f"({target})"
        return updated_node.with_changes(
            target=expression(f"{own}, {target}"),
            iter=expression(f"arrays.keyed({key}, {code(updated_node.iter)})"),
            body=body.with_changes(body=[*before, *body.body]),
        )

    def leave_While(
        self, original_node: cst.While, updated_node: cst.While
    ) -> cst.While | cst.FlattenSentinel[cst.BaseStatement]:
        key = self.named.of.get(original_node)
        if key is None:
            return updated_node
        keys = fresh("pass_keys", self.named.taken)
        own = self.named.of_pass[original_node]
        before = [f"{own} = next({keys})", *self.named.splits[original_node]]
        body = cst.ensure_type(updated_node.body, cst.IndentedBlock)
        body = body.with_changes(body=[*map(statement, before), *body.body])
        return cst.FlattenSentinel(
            [
                statement(f"{keys} = arrays.pass_keys({key})"),
                updated_node.with_changes(body=body),
            ]
        )
