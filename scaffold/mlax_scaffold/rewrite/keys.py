"""`self.key()` becomes the PRNG key of its place, and each sub-layer's call gets its own.

The places that take a key are numbered in the order of the text. One place takes the key of `fwd` itself;
several take the parts of a split. A loop with places in its body is one place: its key is split among its
passes, and that of a pass among the places of the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from mlax_scaffold.model.definition import Kind, MethodRole
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import (
    code,
    expression,
    fresh,
    local_names,
    self_attribute,
    statement,
    with_prelude,
)

PREPARE_KEY = "prepare_key"
"""What `prepare` draws from where `update` draws too, from the input `key`."""


def rewrite(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """See the module."""
    places = _places(function.body, context, {})
    if not places:
        return function
    root = "key"
    if context.method.role is MethodRole.PREPARE and context.draws_in("update"):
        root = PREPARE_KEY
    named = _Names(local_names(function) | context.taken)
    parts = named.parts(places, root, "keys")
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


def looped(loop: cst.For) -> list[tuple[str, str]]:
    """The variables of a loop that come from fields, each with its field."""
    match loop:
        case cst.For(target=cst.Name() as target, iter=iterated):
            pairs = [(target, iterated)]
        case cst.For(
            target=cst.Tuple(elements=targets),
            iter=cst.Call(func=cst.Name("zip"), args=iterables),
        ):
            pairs = [
                (t.value, i.value) for t, i in zip(targets, iterables, strict=False)
            ]
        case _:
            return []
    found = [(code(target), self_attribute(iterated)) for target, iterated in pairs]
    return [(variable, name) for variable, name in found if name]


@dataclass(frozen=True)
class _Loop:
    """A loop with places in its body."""

    node: cst.For
    places: Sequence[_Place]
    name: str
    """What the key of a pass is called."""


_Place = cst.Call | _Loop


def _places(
    node: cst.CSTNode, context: Context, variables: Mapping[str, str]
) -> list[_Place]:
    """The places of a method, or of the body of a loop, in the order of the text."""
    collector = _Collector(context, variables)
    node.visit(collector)
    return collector.places


class _Collector(cst.CSTVisitor):
    # Calls are visited in the order of the text, and left in that of evaluation.
    def __init__(self, context: Context, variables: Mapping[str, str]):
        super().__init__()
        self.context = context
        self.variables = variables
        self.places: list[_Place] = []

    def visit_Call(self, node: cst.Call) -> None:
        name = self_attribute(node.func)
        field = self.variables.get(code(node.func))
        if (
            applied_optimizer(node, self.context) is not None
            or name in ("key", "keys")
            or (name in self.context.sub_layers and self.context.draws(name or ""))
            or (field is not None and self.context.draws(field))
        ):
            self.places.append(node)

    def visit_For(self, node: cst.For) -> bool:
        context = self.context
        fields = {v: f for v, f in looped(node) if f in context.sequences}
        inner = _places(node.body, context, {**self.variables, **fields})
        if inner:
            drawing = [v for v, f in fields.items() if context.draws(f)]
            names = [f"{variable}_key" for variable in (*drawing, *fields)]
            self.places.append(_Loop(node, inner, (*names, "own_key")[0]))
        # What is looped over is evaluated once, and so is what comes after the passes.
        node.iter.visit(self)
        if node.orelse is not None:
            node.orelse.visit(self)
        return False


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
        return [] if count == 1 else [f"{several} = arrays.split_keys({key}, {count})"]


class _Keys(cst.CSTTransformer):
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
        match self_attribute(original_node.func):
            case "key":
                return expression(self._required(key))
            case "keys":
                count = code(updated_node.args[0].value)
                if self.context.definition.kind is Kind.LAYER:
                    key = self._required(key)
                return expression(f"arrays.split_keys({key}, {count})")
        argument = cst.Arg(keyword=cst.Name("key"), value=expression(key))
        return updated_node.with_changes(args=[*updated_node.args, argument])

    def _required(self, key: str) -> str:
        name = self.context.definition.name
        if self.context.definition.kind is Kind.OPTIMIZER:
            return f"trees.required({name!r}, key={key})"
        return f"checks.require_key({name!r}, {key})"

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


def unkeyed(loop: cst.For) -> tuple[cst.For, str, str]:
    """A loop as it was, its key, and the name of that of a pass; both empty where it has none."""
    match loop:
        case cst.For(
            target=cst.Tuple(elements=[own, target]),
            iter=cst.Call(
                func=cst.Attribute(value=cst.Name("arrays"), attr=cst.Name("keyed")),
                args=[key, iterated],
            ),
        ):
            bare = loop.with_changes(target=target.value, iter=iterated.value)
            return bare, code(key.value), code(own.value)
    return loop, "", ""
