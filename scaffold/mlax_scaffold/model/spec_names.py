"""Names that the base classes which run specs have themselves, so that no method of a spec may have them."""

from mlax_scaffold.model.definition import Kind

_OF_TREES = frozenset(["initialize", "initialized", "load"])

_PUBLIC = {
    Kind.LAYER: _OF_TREES,
    Kind.BLOCK: _OF_TREES,
    Kind.OPTIMIZER: _OF_TREES,
    Kind.SCHEDULE: frozenset(["takes_integers"]),
}


def runs_specs(kind: Kind, name: str) -> bool:
    """Whether the base class of specs of this kind has an attribute of the name.

    Its private ones end in an underscore, too, so that a spec may use all other names.
    """
    own = len(name) > 2 and name[0] == name[-1] == "_" != name[1]
    return own or name in _PUBLIC[kind]
