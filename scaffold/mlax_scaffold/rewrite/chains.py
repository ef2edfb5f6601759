"""Places of containers in expressions: `self.layers[i]["norm"]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import libcst as cst

from mlax_scaffold.model.definition import Reference, Role
from mlax_scaffold.model.library import Traits, joined
from mlax_scaffold.model.places import DICT, Member, Step, under
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import code, self_attribute


@dataclass(frozen=True)
class Chain:
    """An attribute of self, and the indices and keys behind it."""

    name: str
    indices: tuple[cst.BaseExpression, ...] = ()

    @property
    def text(self) -> str:
        """What follows the container, in each of its trees."""
        return "".join(f"[{code(index)}]" for index in self.indices)

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(map(_step, self.indices))

    @property
    def path(self) -> str:
        """The indices as a tuple."""
        return f"({''.join(f'{code(index)}, ' for index in self.indices)})"


def chain_of(node: cst.CSTNode) -> Chain | None:
    """The place that an expression is, where it is one of an attribute of self."""
    indices: list[cst.BaseExpression] = []
    while True:
        match node:
            case cst.Subscript(
                value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=index))]
            ):
                indices.insert(0, index)
                node = owner
            case _:
                name = self_attribute(node)
                return None if name is None else Chain(name, tuple(indices))


def attribute_at(node: cst.CSTNode) -> tuple[Chain, str] | None:
    """The place that an attribute is read of, and its name, with dots where it is one of a layer in that."""
    names: list[str] = []
    while isinstance(node, cst.Attribute) and self_attribute(node) is None:
        names.insert(0, node.attr.value)
        node = node.value
    chain = chain_of(node)
    return (chain, ".".join(names)) if chain is not None and names else None


def read_weight(node: cst.CSTNode, context: Context) -> Chain | None:
    """The sub-layer, or the place of one, that `self.embed.kernel` reads a weight of; or that of a weight.

    Of a weight that stands among layers: `self.layers[i]["scale"]`.
    """
    match node:
        case cst.Attribute():
            chain, name = attribute_at(node) or (None, "")
        case cst.Subscript():
            chain, name = chain_of(node), ""
        case _:
            return None
    if chain is None or chain.name not in context.traits:
        return None
    held = chain.name in context.containers
    if not name:
        is_weight = held and Role.TRAINABLE in kinds_at(chain, context)
        return chain if is_weight else None
    if held and not any(isinstance(k, Reference) for k in kinds_at(chain, context)):
        return None  # a container, as in `self.layers.items()`
    traits = traits_at(chain, context)[1] if held else context.traits[chain.name]
    return chain if name in traits.weights else None


def called_member(call: cst.Call, context: Context) -> Chain | None:
    """The place of a list or a container whose layer a call is of."""
    chain = chain_of(call.func)
    if chain is None:
        return None
    if chain.name in context.containers:
        return chain
    return chain if chain.indices and chain.name in context.several else None


def called_given(call: cst.Call, context: Context) -> Chain | None:
    """The place of the layer that a call is of, where it is one of several that a block is given."""
    chain = chain_of(call.func)
    if chain is None or len(chain.indices) != 1:
        return None
    return chain if chain.name in context.given else None


def members_at(chain: Chain, context: Context) -> list[Member]:
    """What may be at a place of a container, and below it."""
    return under(context.containers[chain.name].members, chain.steps)


def kinds_at(chain: Chain, context: Context) -> list[Any]:
    """What may be at a place of a container itself."""
    found = (m.what for m in members_at(chain, context) if not m.steps)
    return list(dict.fromkeys(found))


def traits_at(chain: Chain, context: Context) -> tuple[Reference | None, Traits]:
    """The layer at a place, where it is of one kind, and what it may be."""
    if chain.name in context.several:
        return context.declarations[chain.name].reference, context.traits[chain.name]
    kinds = kinds_at(chain, context)
    layers = [m for m in members_at(chain, context) if not m.steps]
    layers = [m for m in layers if isinstance(m.what, Reference)]
    found = [Member((), m.what, m.nested) for m in layers]
    known = {Member((), m.what, m.nested): t for m, t in context.members.items()}
    traits = joined([known[m] for m in found])
    return (layers[0].what if len(kinds) == 1 else None), traits


def draws_at(chain: Chain, context: Context) -> bool:
    """Whether a call of the layer at a place takes a key."""
    return traits_at(chain, context)[1].draws


def _step(index: cst.BaseExpression) -> Step:
    match index:
        case cst.SimpleString():
            return Step(DICT, index.evaluated_value)
        case cst.Integer():
            return Step("", index.evaluated_value)
    return Step("")
