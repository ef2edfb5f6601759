"""What the methods of a layer use of it, those included that they call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.model.definition import (
    Definition,
    Method,
    MethodRole,
    Reference,
    Role,
)
from mlax_scaffold.model.library import Library, Traits
from mlax_scaffold.model.places import under


@dataclass(frozen=True)
class Needs:
    """What a method takes, beside its parameters, when it is a function."""

    weights: tuple[str, ...] = ()
    """The weights that it reads itself, in the order of their declarations."""
    states: tuple[str, ...] = ()
    """The states that it reads, in that order, where it is not given all."""
    trainables: bool = False
    """Whether it hands weights to sub-layers."""
    non_trainables: bool = False
    hyperparams: bool = False
    training: bool = False
    """Whether it depends on `inference_mode`."""
    draws: bool = False
    """Whether it takes a PRNG key."""
    dtype: bool = False
    """Whether it reads states that it takes out of all, which arrive in the compute dtype."""
    changes: bool = False
    """Whether it returns new states."""
    changes_own: bool = False
    """Whether some of these are no states of layers that a block is given, which may have none."""
    apart: bool = False
    """Whether it is an entry point without an input that decides the dtype, and sets no state.

    Methods that call it hand it weights and states in their dtype.
    """
    casts: bool = False
    """Whether it casts all weights first: functions in it, which may run many times, hand them on."""


def parts_without_dtype(subs: Mapping[str, Traits]) -> set[str]:
    """The sub-layers whose weights are cast before they are called: no input of theirs says the dtype."""
    return {n for n, traits in subs.items() if traits.given_dtype and traits.trainable}


def needs(
    definition: Definition, library: Library, traits: Traits
) -> Mapping[str, Needs]:
    """What each entry point and each function of one's own takes, by name."""
    called = (MethodRole.ENTRY, MethodRole.OWN)
    methods = {m.name: m for m in definition.methods if m.role in called}
    return {
        name: _needs(definition, library, traits, methods, name) for name in methods
    }


def _needs(
    definition: Definition,
    library: Library,
    whole: Traits,
    methods: Mapping[str, Method],
    name: str,
) -> Needs:
    subs = library.sub_layers(definition)
    casts = _casts(definition, subs, methods, name)
    states = {d.name for d in definition.declared(Role.STATE)}
    has_own = bool(states) or any(t.stateful for t in subs.values())
    if methods[name].role is MethodRole.ENTRY:
        return Needs(
            trainables=whole.trainable,
            non_trainables=whole.stateful,
            hyperparams=True,
            training=whole.training,
            draws=draws(definition, library, methods, name),
            changes=whole.stateful,
            changes_own=has_own,
            apart=_apart(definition, subs, methods, name),
            casts=casts,
        )
    names = reached(methods, name)
    own = [methods[n] for n in names if methods[n].role is MethodRole.OWN]
    entries = len(own) < len(names)
    reads = {r for m in own for r in (*m.reads, *m.assigns)}
    assigned = {a for m in own for a in m.assigns}
    used = [traits for n, traits in subs.items() if n in reads]
    dynamic = any(h.name in reads for h in definition.structural())
    weights = tuple(
        d.name for d in definition.declared(Role.TRAINABLE) if d.name in reads
    )
    changes_own = (
        (entries and has_own)
        or any(t.stateful for t in used)
        or bool(states & assigned)
    )
    changes = (entries and whole.stateful) or dynamic or changes_own
    given = () if changes else _given_states(definition, own)
    apart = states - set(given)
    return Needs(
        weights=weights,
        states=given,
        trainables=(entries and whole.trainable)
        or dynamic
        or any(t.trainable for t in used),
        non_trainables=changes or bool(apart & reads),
        hyperparams=bool(entries or reads - states - set(weights) - set(methods)),
        training=(entries and whole.training)
        or dynamic
        or any(m.training for m in own)
        or any(t.training for t in used)
        or any(_calls_several_kinds(definition, m) for m in own),
        draws=draws(definition, library, methods, name),
        dtype=bool(
            (apart | parts_without_dtype(subs)) & {r for m in own for r in m.reads}
        )
        or any("." in r for r in reads - _taken_from_layers(definition))
        or any(_casts(definition, subs, methods, m.name) for m in own),
        changes=changes,
        changes_own=changes_own,
        casts=casts,
    )


def _given_states(definition: Definition, methods: Sequence[Method]) -> tuple[str, ...]:
    """The states that methods read, where each is one array, and read in the compute dtype."""
    declared = definition.declared(Role.STATE)
    read = [d for d in declared if any(d.name in m.reads for m in methods)]
    plain = not any(d.optional or d.absent or d.members for d in read)
    if not plain or any(m.stored for m in methods):
        return ()
    return tuple(d.name for d in read)


def _calls_several_kinds(definition: Definition, method: Method) -> bool:
    """Whether it calls what may be a layer of several kinds, by a function that is told the mode."""
    held = {d.name: d.members for d in definition.declarations if d.members}
    found = (under(held[name], steps) for name, steps in method.places)
    return any(len({m.what for m in f if not m.steps}) > 1 for f in found)


def _taken_from_layers(definition: Definition) -> set[str]:
    """What a method that takes a layer out of a container reads of it, and no weight."""
    declared = definition.declared(Role.SUB_LAYER)
    return {
        f"{d.name}.*"
        for d in declared
        if all(isinstance(m.what, Reference) for m in d.members)
    }


def _apart(
    definition: Definition,
    subs: Mapping[str, Traits],
    methods: Mapping[str, Method],
    name: str,
) -> bool:
    if any(
        i.type.decides_dtype or i.type.holds("PyTree") for i in methods[name].inputs
    ):
        return False
    called = [methods[n] for n in reached(methods, name)]
    reads = {r for m in called for r in m.reads}
    states = {d.name for d in definition.declared(Role.STATE)}
    sets = any(states & set(m.assigns) for m in called)
    stateful = any(traits.stateful for n, traits in subs.items() if n in reads)
    return not (sets or stateful or definition.structural())


def _casts(
    definition: Definition,
    subs: Mapping[str, Traits],
    methods: Mapping[str, Method],
    name: str,
) -> bool:
    """Whether functions in a method hand weights to sub-layers, themselves or by other methods."""
    inside = methods[name].inside
    if not inside:
        return False
    weights = {n for n, traits in subs.items() if traits.trainable}
    weights |= {h.name for h in definition.structural()}
    called = {n for m in inside & set(methods) for n in reached(methods, m)}
    return bool(inside & weights) or any(
        methods[n].reads & weights or methods[n].role is MethodRole.ENTRY
        for n in called
    )


def draws(
    definition: Definition, library: Library, methods: Mapping[str, Method], name: str
) -> bool:
    """Whether a method takes a key, or calls one that does."""
    subs = library.sub_layers(definition)
    consumers = {c for n in reached(methods, name) for c in methods[n].consumers}
    return any(c not in subs or subs[c].draws for c in consumers - set(methods)) or any(
        library.draws_at(definition, methods[n]) for n in reached(methods, name)
    )


def reached(methods: Mapping[str, Method], name: str) -> list[str]:
    """A method and those that it calls, directly or not."""
    found: list[str] = []
    pending = [name]
    while pending:
        here = pending.pop()
        if here not in found:
            found.append(here)
            pending += [n for n in methods if n in methods[here].reads]
    return found
