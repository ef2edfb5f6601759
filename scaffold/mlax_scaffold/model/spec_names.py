"""Names that the base classes which run specs have themselves, so that no method of a spec may have them."""

from mlax_scaffold.model.definition import Kind

PREFIX = "_spec_"
"""How every private attribute of the base classes begins, so that a spec may use all other private names."""

_OF_TREES = frozenset(["initialize", "initialized", "load"])

_PUBLIC = {
    Kind.LAYER: _OF_TREES,
    Kind.BLOCK: _OF_TREES,
    Kind.OPTIMIZER: _OF_TREES,
    Kind.SCHEDULE: frozenset(["takes_integers"]),
}


def runs_specs(kind: Kind, name: str) -> bool:
    """Whether the base class of specs of this kind has an attribute of the name."""
    return name.startswith(PREFIX) or name in _PUBLIC[kind]
