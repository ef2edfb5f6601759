"""What the calls of a definition do beside computing: which draw keys, and which make new states."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping

from mlax_scaffold.model.definition import (
    Definition,
    Kind,
    MethodRole,
    Reference,
    Role,
)
from mlax_scaffold.model.library import Library, Traits
from mlax_scaffold.model.needs import needs
from mlax_scaffold.model.places import Member, under
from mlax_scaffold.reader.closures import Closures, closures, effects_in
from mlax_scaffold.reader.constructs import Effect
from mlax_scaffold.reader.containers.declared import step_of
from mlax_scaffold.reader.looping import SEQUENCES
from mlax_scaffold.reader.marks import Marks, marks
from mlax_scaffold.reader.repeating import closures_of_step
from mlax_scaffold.reader.source import indexed_attribute, parsed

_FUNCTION = re.compile(
    r"\blambda\b|^\s{5,}def |vmap|scan|map|cond|switch|loop|checkpoint|remat|grad|jvp",
    re.M,
)
"""What stands in a text that may have functions inside of its methods, or methods as values."""
_ROLES = (
    MethodRole.ENTRY,
    MethodRole.OWN,
    MethodRole.PREPARE,
    MethodRole.UPDATE,
    MethodRole.FINISH,
    MethodRole.STEP,
)
"""The methods whose functions may draw, or change states."""


def marks_of(definition: Definition, library: Library) -> Mapping[str, Marks]:
    """The functions inside of methods that draw or change states, by method; none for most."""
    # Most methods have no function in them: finding out is cheaper than reading them again.
    if not threads(definition.kind) or not _FUNCTION.search(definition.core):
        return {}
    effects = effects_of(definition, library)
    held = held_by(definition, library)
    return {
        method.name: marks(method, found)
        for method in methods_of(definition)
        if (found := closures_of(definition, method, effects, held))
    }


def maps_given_layers(definition: Definition, library: Library) -> bool:
    """Whether `jax.vmap` runs layers that are given, which then have to leave their states alone."""
    return any(
        run.construct is not None and not run.construct.threads and run.effect.changes
        for found in marks_of(definition, library).values()
        for run in found.calls.values()
    )


def threads(kind: Kind) -> bool:
    """Whether functions inside of the methods of a kind of definition may draw or change states."""
    return kind.is_layer or kind is Kind.OPTIMIZER


def methods_of(definition: Definition) -> Iterator[ast.FunctionDef]:
    """The methods whose functions may draw or change states."""
    roles = {m.name: m.role for m in definition.methods}
    for node in parsed(definition.core).body:
        if isinstance(node, ast.ClassDef) and node.name == definition.name:
            for method in node.body:
                if (
                    isinstance(method, ast.FunctionDef)
                    and roles.get(method.name) in _ROLES
                ):
                    yield method


def sequence_fields(definition: Definition) -> set[str]:
    """The fields that are several layers or optimizers."""
    return {
        h.name for h in definition.structural() if h.type.word.attribute in SEQUENCES
    }


def sequences_of(definition: Definition) -> set[str]:
    """The attributes that are several layers or optimizers."""
    layers = definition.declared(Role.SUB_LAYER)
    return sequence_fields(definition) | {
        d.name for d in layers if d.several or d.members
    }


Held = Mapping[str, Mapping[Member, Traits]]
"""The layers in each container."""


def held_by(definition: Definition, library: Library) -> Held:
    """The layers in each container of a definition."""
    return {
        d.name: {
            m: library.member(m) for m in d.members if isinstance(m.what, Reference)
        }
        for d in definition.declared(Role.SUB_LAYER)
        if d.members
    }


def effect_at(held: Held, called: ast.expr, whole: Effect) -> Effect:
    """What calls of the layers at a place of a container, or below it, do, where the text tells it."""
    name = indexed_attribute(called)
    if name not in held:
        return whole
    steps = []
    while isinstance(called, ast.Subscript):
        steps.insert(0, step_of(called.slice))
        called = called.value
    found = [t for m, t in held[name or ""].items() if under((m,), steps)]
    changes = any(t.stateful for t in found)
    return Effect(changes, any(t.draws for t in found), changes)


def closures_of(
    definition: Definition,
    method: ast.FunctionDef,
    effects: Mapping[str, Effect],
    held: Held,
) -> Closures:
    """The functions inside of a method that draw or change states, and what calls them."""
    roles = (Role.STATE, Role.MOMENT)
    states = {
        d.name
        for d in definition.declarations
        if d.role in roles or d.holds(Role.STATE) or d.holds(Role.MOMENT)
    }
    optimizers = optimizers_of(definition)
    if definition.kind is Kind.OPTIMIZER and method.name == "update":
        states = (
            set()
        )  # its moments are locals, which functions inside of it set as such
    states |= {f"{name}.state" for name in optimizers}
    states |= {f"{name}.non_trainables" for name in definition.holding("layer")}
    at = functools.partial(effect_at, held)
    sequences = sequences_of(definition)

    def found(effects: Mapping[str, Effect]) -> Closures:
        return closures(method, effects_in(method, effects, sequences, states, at))

    return closures_of_step(method, effects, optimizers, found)


def optimizers_of(definition: Definition) -> set[str]:
    """The attributes that are one optimizer."""
    made = {d.name for d in definition.declared(Role.OPTIMIZER)}
    return made | {*definition.holding("optimizer")}


def effects_of(definition: Definition, library: Library) -> Mapping[str, Effect]:
    """What a call of each attribute of self does: of sub-layers, of methods, and of layers in a list."""
    if definition.kind is Kind.OPTIMIZER:
        called = optimizers_of(definition) | sequences_of(definition)
        changed = dict.fromkeys(called, Effect(True, True, True))
        return {**changed, "key": Effect(False, True)}
    found = {
        name: Effect(traits.stateful, traits.draws, traits.stateful)
        for name, traits in library.sub_layers(definition).items()
    }
    found |= {h.name: Effect(True, True) for h in definition.structural()}
    taken = needs(definition, library, library.traits(definition.reference))
    found |= {
        name: Effect(n.changes, n.draws, n.changes_own) for name, n in taken.items()
    }
    return found | {"key": Effect(False, True), "keys": Effect(False, True)}
