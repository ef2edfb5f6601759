"""What the generated tests of a layer say about its module class."""

from __future__ import annotations

from collections.abc import Iterator

from mlax_scaffold.model.definition import Definition, Kind, Role
from mlax_scaffold.model.library import Library
from mlax_scaffold.render.graph_sizes import inferred

_TOYS = {
    "SubLayer": 'toys.module(LayerModule, node.child("{0}"), rng, toys.layer)',
    "Cell": 'toys.module(LayerModule, node.child("{0}"), rng, toys.cell)',
    "Stacked": 'toys.module(LayerModule, node.child("{0}"), rng, toys.layer)',
    "SubLayers": "toys.modules(LayerModule, node, rng, count)",
}


def module_expression(definition: Definition, library: Library) -> str:
    """A module with the hyperparameters that were drawn, but for those that it infers."""
    return (
        f"graph.{definition.module_name}({', '.join(_arguments(definition, library))})"
    )


def _arguments(definition: Definition, library: Library) -> Iterator[str]:
    yield "node"
    known = inferred(definition)
    for h in definition.hyperparameters:
        if h.name not in known:
            toy = _TOYS.get(h.type.word.name, h.name).format(h.name)
            yield f"{definition.alias(h.name)}={toy}"
    traits = library.traits(definition.reference)
    if definition.kind is Kind.BLOCK or traits.takes_key or traits.draws:
        yield "rng=rng"


def creation_keys(definition: Definition, library: Library) -> int | None:
    """How many arrays `init` has a key for; None where a list or a module decides."""
    count = 0
    for d in definition.declarations:
        if d.role in (Role.TRAINABLE, Role.STATE):
            count += 1
        elif d.role is Role.SUB_LAYER and d.reference is not None:
            nested = creation_keys(library[d.reference], library)
            if nested is None or (d.several and nested):
                return None
            count += nested
    return None if definition.structural() else count
