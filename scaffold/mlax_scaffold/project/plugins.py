"""Plugins: what third parties add to the projects whose settings name them.

A plugin is a package that an entry point names. Finding it, its specs and its digest imports nothing of
it; `project.plugin_code` imports its words and its kinds of output.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mlax_scaffold.errors import UsageError
from mlax_scaffold.reader.files import SpecFile, find_specs, library_specs
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.spelling import did_you_mean
from mlax_scaffold.write import digest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "mlax_scaffold.plugins"
ARCHETYPE = ".py.jinja"
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")
_IGNORED = ("__pycache__",)


class PluginError(UsageError):
    """A plugin that a project names is not there, not whole, or in conflict with another one."""


@dataclass(frozen=True)
class Plugin:
    """An installed plugin."""

    name: str
    module: str
    """The dotted name of its package."""
    distribution: str
    version: str
    folder: Path

    def __str__(self) -> str:
        return f"the plugin {self.name} ({self.distribution} {self.version})"

    @property
    def root(self) -> str:
        """The folder that its package is imported from."""
        return str(self.folder.parents[self.module.count(".")])

    @property
    def specs_path(self) -> str:
        """What the folder of its specs is called."""
        return f"{self.module.replace('.', '/')}/specs"

    @cached_property
    def specs(self) -> tuple[SpecFile, ...]:
        """Its specs, which are read and never run."""
        return find_specs(self.folder / "specs", self.specs_path, str(self))

    @cached_property
    def archetypes(self) -> dict[str, Path]:
        """The templates of new layers, by name."""
        found = sorted((self.folder / "archetypes").glob(f"*{ARCHETYPE}"))
        return {path.name.removesuffix(ARCHETYPE): path for path in found}

    def has(self, module: str) -> bool:
        """Whether its package has a module of this name."""
        place = self.folder / module
        return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()

    @cached_property
    def digest(self) -> str:
        """Changes with all that it is but its specs, which are recorded one by one."""
        parts = hashlib.sha256()
        for name, place in sorted(self._files()):
            parts.update(f"{name} {digest(place.read_bytes())}\n".encode())
        return parts.hexdigest()[:16]

    def _files(self) -> Iterator[tuple[str, Path]]:
        for folder, names, files in os.walk(self.folder):
            above = Path(folder)
            skipped = (*_IGNORED, *(["specs"] if above == self.folder else []))
            names[:] = [n for n in names if n not in skipped and n[0] != "."]
            for file in files:
                if file[0] != "." and not file.endswith((".pyc", ".pyo")):
                    place = above / file
                    yield place.relative_to(self.folder).as_posix(), place


def find_plugins(names: Sequence[str]) -> tuple[Plugin, ...]:
    """The plugins that a project names, in the order of their names.

    Raises:
        PluginError: naming each that is not installed, not whole, or there twice, and every two that
            conflict.
    """
    if not names:
        return ()
    entries = installed()
    found: list[Plugin] = []
    mistakes: list[str] = []
    for name in sorted(names):
        try:
            found.append(_plugin(name, entries))
        except PluginError as error:
            mistakes.append(str(error))
    if not mistakes:
        mistakes += _conflicts(found)
    if mistakes:
        raise PluginError("\n".join(mistakes))
    return tuple(found)


def installed() -> dict[str, list[EntryPoint]]:
    """The entry points of all plugins, by name."""
    # Late: most projects name none.
    from importlib import metadata

    found: dict[str, list[EntryPoint]] = {}
    for entry in metadata.entry_points(group=GROUP):
        found.setdefault(entry.name, []).append(entry)
    return found


def _plugin(name: str, entries: Mapping[str, list[EntryPoint]]) -> Plugin:
    if name not in entries:
        known = sorted(entries)
        there = f"installed are {', '.join(known)}" if known else "none is installed"
        raise PluginError(
            f'the plugin "{name}" is not installed here: '
            f"{did_you_mean(name, known) or there}. Install the distribution that has it, "
            f'with what you run mlax-scaffold with, or take "{name}" out of `plugins` in '
            "[tool.mlax-scaffold]. Nothing was changed."
        )
    offered = entries[name]
    if len(offered) > 1:
        who = " and ".join(sorted(_distribution(e)[0] for e in offered))
        raise PluginError(f'{who} both have a plugin "{name}": uninstall one of them')
    return read_plugin(offered[0])


def read_plugin(entry: EntryPoint) -> Plugin:
    """The plugin that an entry point names.

    Raises:
        PluginError: it names no package that can be found.
    """
    distribution, version = _distribution(entry)
    of = f'the plugin "{entry.name}" of {distribution} {version}'
    if not _NAME.match(entry.name):
        raise PluginError(
            f"{of} has a name that does not do: expected lower case letters, digits and _"
        )
    if not _MODULE.match(entry.value):
        raise PluginError(
            f"{of} is {entry.value}, expected the name of a package such as mypack.scaffold"
        )
    folder = _folder(entry.value)
    if folder is None:
        raise PluginError(
            f"{of} is the package {entry.value}, which is not there: install it again"
        )
    return Plugin(entry.name, entry.value, distribution, version, folder)


def _distribution(entry: EntryPoint) -> tuple[str, str]:
    if entry.dist is None:
        return "an unknown distribution", ""
    return entry.dist.name, entry.dist.version


def _folder(module: str) -> Path | None:
    """The folder of a package; only what is above all its packages may be imported."""
    top, *rest = module.split(".")
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    places = list(found.submodule_search_locations or ()) if found else []
    folders = (Path(place, *rest) for place in places)
    return next((folder for folder in folders if folder.is_dir()), None)


def _conflicts(plugins: Iterable[Plugin]) -> Iterator[str]:
    """What two plugins both have, or one and mlax-scaffold, as far as files tell."""
    from mlax_scaffold.project.archetypes import built_in_archetypes

    ours = "mlax-scaffold"
    archetypes = dict.fromkeys(built_in_archetypes(), ours)
    specs = {(s.section, Path(s.path).stem): ours for s in library_specs("")}
    for plugin in plugins:
        for name in plugin.archetypes:
            other = archetypes.setdefault(name, str(plugin))
            if other != str(plugin):
                yield f'{other} and {plugin} both have an archetype "{name}"'
        for spec in plugin.specs:
            stem = Path(spec.path).stem
            other = specs.setdefault((spec.section, module_name(stem)), str(plugin))
            if other != str(plugin):
                yield f"{other} and {plugin} both have a spec {spec.section}/{stem}.py"
