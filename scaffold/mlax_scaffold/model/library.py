"""All definitions together, and what follows from how they refer to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mlax_scaffold.model.definition import (
    SECTIONS,
    Declaration,
    Definition,
    Kind,
    Method,
    Reference,
    Role,
)
from mlax_scaffold.model.places import Member, under


@dataclass(frozen=True)
class Entered:
    """An entry point of a layer, by the name of the function that it is."""

    name: str
    positional: tuple[str, ...] = ()
    """The names of the inputs that it takes as `x`, in order."""
    keyword: tuple[str, ...] = ()
    """The names of the others."""


@dataclass(frozen=True)
class Traits:
    """What a layer is, its sub-layers included."""

    trainable: bool
    """Whether it has trainables."""
    stateful: bool
    """Whether it has non-trainables."""
    draws: bool
    """Whether `fwd` can take a PRNG key."""
    training: bool
    """Whether `fwd` depends on `inference_mode`."""
    stored: bool
    """Whether a state is read in the dtype that it is stored in."""
    weights: frozenset[str] = frozenset()
    """The names of its weights; those of a sub-layer with the name of that, `embed.kernel`."""
    states: frozenset[str] = frozenset()
    """The names of its own states."""
    surrogate: bool = False
    """Whether its gradient is meant not to be the derivative of its values."""
    complex_numbers: bool = False
    """Whether it computes with complex numbers."""
    given_dtype: bool = False
    """Whether it has weights and no input that decides the dtype: that of what it is part of does."""
    keyed: bool = False
    """Whether `init` takes a key."""
    entries: tuple[Entered, ...] = ()
    """Its entry points; none of what may be one of several layers, whose inputs differ."""

    def entry(self, name: str) -> Entered | None:
        """What `fwd`, or another entry point, takes; None where that is not known."""
        return next((e for e in self.entries if e.name == name), None)


def joined(parts: Sequence[Traits]) -> Traits:
    """What one of several layers may be."""
    first = parts[0]
    if all(part == first for part in parts):
        return first
    return Traits(
        weights=frozenset().union(*(t.weights for t in parts)),
        states=frozenset().union(*(t.states for t in parts)),
        trainable=any(t.trainable for t in parts),
        stateful=any(t.stateful for t in parts),
        draws=any(t.draws for t in parts),
        training=any(t.training for t in parts),
        stored=any(t.stored for t in parts),
        keyed=any(t.keyed for t in parts),
        surrogate=any(t.surrogate for t in parts),
        complex_numbers=any(t.complex_numbers for t in parts),
        given_dtype=any(t.given_dtype for t in parts),
        entries=first.entries if all(p.entries == first.entries for p in parts) else (),
    )


@dataclass(frozen=True)
class Library:
    """Definitions by reference. Every reference in them resolves, and there is no cycle."""

    definitions: Mapping[Reference, Definition]

    def __iter__(self) -> Iterator[Definition]:
        return iter(self.definitions.values())

    def __getitem__(self, reference: Reference) -> Definition:
        return self.definitions[reference]

    def of(self, kind: Kind) -> tuple[Definition, ...]:
        """The definitions of a kind, in the order of their names."""
        return tuple(
            sorted((d for d in self if d.kind is kind), key=lambda d: d.name.lower())
        )

    def within(self, section: str) -> tuple[Definition, ...]:
        """The definitions of a section, in the order of their names."""
        return tuple(
            sorted(
                (d for d in self if d.section == section), key=lambda d: d.name.lower()
            )
        )

    @cached_property
    def _traits(self) -> dict[Reference, Traits]:
        return {}

    def traits(self, reference: Reference) -> Traits:
        """What the layer is, its sub-layers included."""
        found = self._traits.get(reference)
        if found is None:
            found = self._traits[reference] = self._derive(self[reference])
        return found

    def sub_layers(self, definition: Definition) -> dict[str, Traits]:
        """Traits of each declared sub-layer, by the name of its declaration."""
        return {
            d.name: self._together(d) if d.members else self.traits(d.references[0])
            for d in definition.declared(Role.SUB_LAYER)
        }

    def member(self, member: Member) -> Traits:
        """What a layer in a container is; what a block draws, the layers that it is given say."""
        traits = self.traits(member.what)
        layers = (member.what, *member.nested)
        drawing = any(map(self.draws_itself, layers))
        return replace(traits, draws=drawing)

    def draws_itself(self, reference: Reference) -> bool:
        """Whether a layer draws; a block whether it does so beside the layers that it is given."""
        definition = self[reference]
        if definition.kind is not Kind.BLOCK:
            return self.traits(reference).draws
        subs = self.sub_layers(definition)
        consumers = {c for m in definition.methods for c in m.consumers}
        return "key" in consumers or any(subs[c].draws for c in consumers & set(subs))

    def draws_at(self, definition: Definition, method: Method) -> bool:
        """Whether a method calls a layer of a container that draws."""
        held = {d.name: d.members for d in definition.declarations if d.members}
        return any(
            self.member(m).draws
            for name, steps in method.places
            for m in under(held[name], steps)
            if not m.steps and isinstance(m.what, Reference)
        )

    def asks(
        self, definition: Definition, method: Method, seen: tuple[Method, ...] = ()
    ) -> bool:
        """Whether a method draws at inference, too, by itself or by what it calls."""
        seen = (*seen, method)
        own = {m.name: m for m in definition.methods if m not in seen}
        subs = {d.name: d.references for d in definition.declared(Role.SUB_LAYER)}
        return any(
            name in ("key", "keys")
            or (name in own and self.asks(definition, own[name], seen))
            or any(self.asks(self[r], self[r].entry) for r in subs.get(name, ()))
            for name in method.unasked
        )

    def _together(self, d: Declaration) -> Traits:
        """What a container is, its members included."""
        held = [m for m in d.members if isinstance(m.what, Reference)]
        whole = joined([self.member(m) for m in held])
        keyed = any(self.traits(reference).keyed for reference in d.references)
        return replace(
            whole,
            trainable=whole.trainable or d.holds(Role.TRAINABLE),
            stateful=whole.stateful or d.holds(Role.STATE),
            keyed=keyed or d.holds(Role.TRAINABLE) or d.holds(Role.STATE),
        )

    def _derive(self, definition: Definition) -> Traits:
        subs = self.sub_layers(definition)
        dynamic = bool(definition.structural())
        methods = {m.name for m in definition.methods}
        consumers = {c for m in definition.methods for c in m.consumers} - methods
        forward = definition.method("forward")
        decided = forward and any(i.type.decides_dtype for i in forward.positional)
        return Traits(
            trainable=dynamic
            or bool(definition.declared(Role.TRAINABLE))
            or any(t.trainable for t in subs.values()),
            stateful=dynamic
            or bool(definition.declared(Role.STATE))
            or any(t.stateful for t in subs.values()),
            draws=any(c not in subs or subs[c].draws for c in consumers)
            or any(self.draws_at(definition, m) for m in definition.methods),
            training=dynamic
            or any(m.training for m in definition.methods)
            or any(t.training for t in subs.values()),
            stored=any(m.stored for m in definition.methods)
            or any(t.stored for t in subs.values()),
            weights=self._arrays(definition, Role.TRAINABLE),
            states=self._arrays(definition, Role.STATE),
            keyed=any(
                d.role in (Role.TRAINABLE, Role.STATE) for d in definition.declarations
            )
            or any(t.keyed for t in subs.values()),
            surrogate=self.surrogate(definition)
            or any(t.surrogate for t in subs.values()),
            complex_numbers=self.has_complex(definition)
            or any(t.complex_numbers for t in subs.values()),
            given_dtype=not (
                decided or definition.kind is Kind.BLOCK or forward is None
            ),
            entries=tuple(
                Entered(
                    m.function,
                    tuple(i.name for i in m.positional),
                    tuple(i.name for i in m.keyword),
                )
                for m in definition.entries
            ),
        )

    def _arrays(self, definition: Definition, role: Role) -> frozenset[str]:
        """Its arrays of a role, and those of its sub-layers, `embed.kernel`, that are one layer each."""
        found = {d.name for d in definition.declared(role)}
        for d in definition.declared(Role.SUB_LAYER):
            if not (d.members or d.several):
                traits = self.traits(d.references[0])
                inner = traits.weights if role is Role.TRAINABLE else traits.states
                found |= {f"{d.name}.{name}" for name in inner}
        return frozenset(found)

    def surrogate(self, definition: Definition) -> bool:
        """Whether its gradient, or that of a function it is built on, is meant not to be the derivative."""
        functions = self._functions(definition)
        return bool(definition.surrogate_gradient) or any(
            map(self.surrogate, functions)
        )

    def own_dtypes(self, definition: Definition) -> tuple[str, ...]:
        """The dtypes that its code, or that of what it is built on, asks for."""
        found = set(definition.own_dtypes)
        for reference in self.references(definition):
            found.update(self.own_dtypes(self[reference]))
        return tuple(sorted(found))

    def refuses_half(self, definition: Definition) -> bool:
        """Whether half precision has not what it computes with, and its code casts nothing to what has."""
        return self.has_complex(definition) and not self._casts(definition)

    def _casts(self, definition: Definition) -> bool:
        """Whether its code, or that of what it is built on, casts to a dtype that has complex numbers."""
        wide = {"float32", "float64"} & set(definition.own_dtypes)
        own = bool(wide) and not definition.widens_calls_alone
        return own or any(self._casts(self[r]) for r in self.references(definition))

    def has_complex(self, definition: Definition) -> bool:
        """Whether it, or a function it is built on, computes with complex numbers."""
        functions = self._functions(definition)
        return definition.complex_numbers or any(map(self.has_complex, functions))

    def _functions(self, definition: Definition) -> Iterator[Definition]:
        """The functions of the library that a definition is built on, directly."""
        for reference in self.references(definition):
            if SECTIONS[reference.section] is Kind.FUNCTION:
                yield self[reference]

    def takes_key(self, definition: Definition) -> bool:
        """Whether `init` takes a PRNG key."""
        layer = definition.kind.is_layer
        return layer and self.traits(definition.reference).keyed

    def references(self, definition: Definition) -> tuple[Reference, ...]:
        """The specs that a definition is built on, directly."""
        found = [i.reference for i in definition.imports if i.reference]
        return tuple(dict.fromkeys(found))
