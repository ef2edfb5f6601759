"""The templates that new specs start from."""

from __future__ import annotations

import os
from collections.abc import Iterable

from mlax_scaffold.model.definition import Kind
from mlax_scaffold.project.plugins import ARCHETYPE, Plugin
from mlax_scaffold.write import templates_place

DEFAULT = "dense"
_SUFFIXES = {
    "Attention": "attention",
    "Norm": "normalization",
    "Conv": "convolution",
    "Cell": "recurrent",
    "Dropout": "random",
    "Noise": "random",
}
_OF_KINDS = {Kind.OPTIMIZER: "optimizer", Kind.FUNCTION: "function"}


def built_in_archetypes() -> list[str]:
    """The archetypes of layers that come with the generator."""
    folder = os.path.join(templates_place(), "specs")
    files = [name for name in os.listdir(folder) if name.endswith(ARCHETYPE)]
    names = {name.removesuffix(ARCHETYPE) for name in files}
    return sorted(names - set(_OF_KINDS.values()))


def archetype_for(name: str) -> str:
    """The archetype that a layer's name suggests."""
    for suffix, archetype in _SUFFIXES.items():
        if name.endswith(suffix):
            return archetype
    return DEFAULT


def archetypes(plugins: Iterable[Plugin] = ()) -> list[str]:
    """The archetypes of layers, with those of plugins."""
    added = (name for plugin in plugins for name in plugin.archetypes)
    return sorted([*built_in_archetypes(), *added])


def from_archetype(
    name: str, kind: Kind, archetype: str = "", plugins: Iterable[Plugin] = ()
) -> str:
    """The text of a new spec."""
    for plugin in plugins:
        if place := plugin.archetypes.get(archetype):
            return rendered(place.name, str(place.parent), name=name)
    return rendered(f"specs/{archetype or _OF_KINDS[kind]}.py.jinja", name=name)


def rendered(template: str, folder: str = "", **values: object) -> str:
    """The text of a template of what a person owns from then on.

    Args:
        template: its path.
        folder: the folder that it is in; default: that of the generator's templates.
        values: what it places.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder or templates_place()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**values)
