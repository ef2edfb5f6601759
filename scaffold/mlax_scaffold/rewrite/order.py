"""States that a statement reads before it calls what changes them, in the order in which Python evaluates.

Calls of layers and methods are moved to statements before their own, and so are these reads:
`self.total + self.step(x)` becomes `old_total = self.total` and `y = self.step(x)` before `old_total + y`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from mlax_scaffold.model.definition import Role
from mlax_scaffold.model.needs import reached
from mlax_scaffold.rewrite.chains import attribute_at, called_member, chain_of
from mlax_scaffold.rewrite.closures import STATE, takes
from mlax_scaffold.rewrite.context import Context
from mlax_scaffold.rewrite.nodes import augmented, code, expression, self_attribute
from mlax_scaffold.rewrite.traversal import Transformer, children, parts


def with_plain_sums(function: cst.FunctionDef, context: Context) -> cst.FunctionDef:
    """`self.total += self.step(x)` as an assignment, whose state is read before the call."""
    return cst.ensure_type(function.visit(_Plain(context)), cst.FunctionDef)


def read_before(
    function: cst.FunctionDef, context: Context
) -> Mapping[cst.CSTNode, str]:
    """The reads of states that stand before a call that changes them, in its statement, each with a name."""
    found: dict[cst.CSTNode, str] = {}
    for line in parts(function):
        if not isinstance(line, cst.SimpleStatementLine):
            continue
        events = [e for small in line.body for e in _evaluated(small, context)]
        for place, event in enumerate(events):
            if isinstance(event, _Read) and any(
                isinstance(other, _Change)
                and event.state in other.states
                and event not in other.given
                for other in events[place + 1 :]
            ):
                found[event.node] = f"old_{event.name}"
    return found


@dataclass(frozen=True, eq=False)
class _Read:
    """A state is read."""

    node: cst.CSTNode
    state: str
    """The attribute of self that it is, or that it is a state of."""
    name: str


@dataclass(frozen=True, eq=False)
class _Change:
    """A call may change states."""

    states: frozenset[str]
    given: tuple[_Read | _Change, ...]
    """What its arguments read and change, which stay in the statement of the call."""


def _evaluated(node: cst.CSTNode, context: Context) -> Iterator[_Read | _Change]:
    """What reads and changes states in a statement, in the order of evaluation."""
    match node:
        case cst.Lambda():
            return
        case cst.Assign() | cst.AnnAssign() | cst.AugAssign():
            if node.value is not None:
                yield from _evaluated(node.value, context)
            return
        case cst.Call(func=cst.Name(value=name)) if name in context.needs:
            # States that it is given stand first, and it reads them when all else is known.
            needs = context.needs[name]
            last = len(needs.weights) + len(needs.states)
            for arg in (*node.args[last:], *node.args[:last]):
                yield from _evaluated(arg, context)
            if needs.non_trainables and not needs.changes:
                for state in sorted(_read_by_method(name, context)):
                    yield _Read(node, state, name.lstrip("_"))
            return
        case cst.Call():
            states = _changed(node, context)
            if states is not None:
                given = [e for a in node.args for e in _evaluated(a, context)]
                yield from given
                yield _Change(states, (*given,))
                return
    read = _read(node, context)
    if read is not None:
        yield read
        return
    for child in children(node):
        yield from _evaluated(child, context)


def _read(node: cst.CSTNode, context: Context) -> _Read | None:
    match node:
        case cst.Attribute(value=owner, attr=cst.Name(value=name)):
            if self_attribute(owner) == "stored":
                return _Read(node, name, name)
            chain, _ = attribute_at(node) or (None, "")
            if chain is not None and context.renews(chain.name):
                return _Read(node, chain.name, name)
            optimizer = self_attribute(owner)
            if name == "state" and optimizer in context.sub_optimizers:
                return _Read(node, optimizer, f"{optimizer}_state")
    chain = chain_of(node)
    if chain is None or chain.name not in _states(context):
        return None
    return _Read(node, chain.name, chain.name.lstrip("_"))


def _changed(call: cst.Call, context: Context) -> frozenset[str] | None:
    """The attributes whose states a call may change; None where it is none of a layer or a method."""
    if takes(call, STATE):
        return _all(context)
    name = self_attribute(call.func)
    if name is not None and name in context.needs:
        return frozenset(_by_method(name, context))
    if name is not None and name in context.sub_layers | context.sub_optimizers:
        return frozenset({name} if context.renews(name) else ())
    member = called_member(call, context)
    return None if member is None else frozenset({member.name})


def _all(context: Context) -> frozenset[str]:
    called = {*context.traits, *context.dynamic, *context.sequences}
    called |= context.sub_optimizers
    return _states(context) | {name for name in called if context.renews(name)}


def _states(context: Context) -> frozenset[str]:
    return context.declared(Role.STATE, Role.MOMENT) | context.trees


def _read_by_method(name: str, context: Context) -> frozenset[str]:
    """The states that a method reads, or those that it calls."""
    methods = {m.name: m for m in context.definition.methods}
    called = (methods[n] for n in reached(methods, name))
    return _states(context) & {read for m in called for read in m.reads}


def _by_method(name: str, context: Context) -> set[str]:
    """What a method, or those that it calls, may change."""
    methods = {m.name: m for m in context.definition.methods}
    found: set[str] = set()
    for called in (methods[n] for n in reached(methods, name)):
        found |= {*called.assigns}
        found |= {read for read in called.reads if context.renews(read)}
    return found


class _Plain(Transformer):
    def __init__(self, context: Context):
        super().__init__()
        self.context = context

    def leave_AugAssign(
        self, original_node: cst.AugAssign, updated_node: cst.AugAssign
    ) -> cst.AugAssign | cst.Assign:
        chain = chain_of(original_node.target)
        if chain is None or not any(
            isinstance(event, _Change) and chain.name in event.states
            for event in _evaluated(original_node.value, self.context)
        ):
            return updated_node
        target = updated_node.target
        value = augmented(code(target), updated_node)
        return cst.Assign([cst.AssignTarget(target)], expression(value))
