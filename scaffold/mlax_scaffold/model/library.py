"""All definitions together, and what follows from how they refer to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mlax_scaffold.model.definition import Definition, Kind, Reference, Role


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

    @property
    def takes_key(self) -> bool:
        """Whether `init` takes a key."""
        return self.trainable or self.stateful


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
            d.name: self.traits(d.reference)
            for d in definition.declared(Role.SUB_LAYER)
            if d.reference is not None
        }

    def _derive(self, definition: Definition) -> Traits:
        subs = self.sub_layers(definition)
        dynamic = bool(definition.structural())
        consumers = {c for m in definition.methods for c in m.consumers}
        return Traits(
            trainable=dynamic
            or bool(definition.declared(Role.TRAINABLE))
            or any(t.trainable for t in subs.values()),
            stateful=dynamic
            or bool(definition.declared(Role.STATE))
            or any(t.stateful for t in subs.values()),
            draws=any(c not in subs or subs[c].draws for c in consumers),
            training=dynamic
            or any(m.training for m in definition.methods)
            or any(t.training for t in subs.values()),
            stored=any(m.stored for m in definition.methods)
            or any(t.stored for t in subs.values()),
        )

    def references(self, definition: Definition) -> tuple[Reference, ...]:
        """The specs that a definition is built on, directly."""
        found = [i.reference for i in definition.imports if i.reference]
        return tuple(dict.fromkeys(found))
