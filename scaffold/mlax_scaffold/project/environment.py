"""What the generator runs with: versions, where each comes from, and what is wrong."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from importlib import metadata

from mlax_scaffold.errors import MlaxScaffoldError
from mlax_scaffold.project.initialization import missing_attributes
from mlax_scaffold.project.plugin_code import outputs_of, words_of
from mlax_scaffold.project.plugins import Plugin, installed, read_plugin
from mlax_scaffold.project.processes import PACKAGE
from mlax_scaffold.project.progress import plural
from mlax_scaffold.project.settings import import_root
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.reader.files import LIBRARY_SPECS
from mlax_scaffold.write import interrupted, templates_place

DISTRIBUTION = "mlax-scaffold"
_TESTS = ("pytest", "hypothesis")
_OPTIONAL = ("safetensors", "treescope", "watchfiles", "griffe", "optax")


@dataclass(frozen=True)
class Part:
    """Something that takes part."""

    name: str
    version: str
    """Empty where it is not there."""
    place: str
    needed_for: str = ""
    """Empty for what is always needed."""


@dataclass(frozen=True)
class PluginPart:
    """A plugin that is installed."""

    name: str
    distribution: str
    version: str
    package: str
    place: str
    used: bool
    """Whether the project names it."""
    offers: tuple[str, ...]
    """What it adds, in words."""


@dataclass(frozen=True)
class Problem:
    """What is wrong, and what to do."""

    text: str
    advice: str


@dataclass(frozen=True)
class Diagnosis:
    """All that there is to know of an environment."""

    parts: tuple[Part, ...]
    project: tuple[tuple[str, str], ...]
    """What is known of the project; empty outside of one."""
    problems: tuple[Problem, ...]
    plugins: tuple[PluginPart, ...] = ()


def diagnose(directory: str | None = None) -> Diagnosis:
    """Look at what is installed, and at the project of a folder.

    Writes nothing, and imports nothing but the plugins that the project names.
    """
    parts = tuple(_parts())
    problems = [*_wrong_versions(parts), *_wrong_installation()]
    try:
        workspace = Workspace.find(directory)
    except MlaxScaffoldError as error:
        if directory is not None or "is no mlax-scaffold project" not in str(error):
            problems.append(Problem(str(error), "correct it"))
        plugins, wrong = _plugins(())
        return Diagnosis(parts, (), (*problems, *wrong), tuple(plugins))
    plugins, wrong = _plugins(workspace.project.plugins)
    wrong += (missing := _wrong_plugins(workspace))
    problems += [*wrong, *_wrong_project(workspace, readable=not missing)]
    return Diagnosis(parts, tuple(_known(workspace)), tuple(problems), tuple(plugins))


def _plugins(names: Collection[str]) -> tuple[list[PluginPart], list[Problem]]:
    """The plugins that are installed, and what is wrong with those that are not named."""
    found: list[PluginPart] = []
    problems: list[Problem] = []
    for name, entries in sorted(installed().items()):
        for entry in entries:
            try:
                plugin = read_plugin(entry)
                offers = tuple(_offers(plugin))
            except MlaxScaffoldError as error:
                if name not in names:
                    advice = "install it again, or uninstall it"
                    problems.append(Problem(str(error), advice))
                continue
            place = str(plugin.folder)
            made = plugin.distribution, plugin.version, plugin.module, place
            found.append(PluginPart(name, *made, name in names, offers))
    return found, problems


def _offers(plugin: Plugin) -> Iterator[str]:
    if plugin.specs:
        yield plural(len(plugin.specs), "spec")
    if plugin.archetypes:
        yield plural(len(plugin.archetypes), "archetype")
    yield from (name for name in ("words", "outputs") if plugin.has(name))


def _wrong_plugins(workspace: Workspace) -> list[Problem]:
    """What is wrong with the plugins that the project names: this imports them."""
    try:
        if workspace.plugins:
            words_of(workspace.plugins)
            outputs_of(workspace.plugins)
    except MlaxScaffoldError as error:
        return [Problem(str(error), "install what is missing, or correct `plugins`")]
    return []


def _parts() -> Iterator[Part]:
    yield Part("Python", platform.python_version(), sys.executable)
    version = _version(DISTRIBUTION)
    yield Part(DISTRIBUTION, version or "not installed: a checkout", PACKAGE)
    yield Part("templates", "of the same", templates_place())
    yield Part("built-in specs", "of the same", str(LIBRARY_SPECS))
    for name in _requirements():
        yield Part(name, _version(name), _place(name))
    for name in _TESTS:
        yield Part(name, _version(name), _place(name), "test")
    for name in _OPTIONAL:
        yield Part(name, _version(name), _place(name), "extras")


def _requirements() -> dict[str, str]:
    """What is always needed, and the versions that do."""
    try:
        lines = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        lines = ["click", "jax", "jaxlib", "jinja2", "libcst", "ruff"]
    found = {}
    for line in lines:
        requirement, _, marker = line.partition(";")
        name = re.match(r"[\w.-]+", requirement)
        if name is not None and "extra" not in marker:
            found[name[0]] = requirement[name.end() :].strip()
    return found


def _wrong_versions(parts: tuple[Part, ...]) -> Iterator[Problem]:
    wanted = _requirements()
    for part in parts:
        asked = wanted.get(part.name)
        if part.name in _TESTS and not part.version:
            yield Problem(
                f"{part.name} is not installed, so that generated tests cannot be run",
                'pip install "mlax-scaffold[test]"',
            )
        elif asked is not None and not part.version:
            yield Problem(f"{part.name} is not installed", f'pip install "{part.name}"')
        elif asked and not satisfies(part.version, asked):
            yield Problem(
                f"{part.name} is {part.version}, where {asked} is needed",
                f'pip install "{part.name}{asked}"',
            )
    versions = {part.name: part.version for part in parts}
    jax, jaxlib = (
        _numbers(versions.get("jax", "")),
        _numbers(versions.get("jaxlib", "")),
    )
    if jax and jaxlib and jaxlib > jax:
        yield Problem(
            f"jaxlib {versions['jaxlib']} is newer than jax {versions['jax']}",
            f"pip install jaxlib=={versions['jax']}",
        )


def _wrong_installation() -> Iterator[Problem]:
    places = sorted({os.path.realpath(p) for p in _copies()})
    if len(places) > 1:
        yield Problem(
            f"there are {len(places)} copies of mlax_scaffold to import from: "
            + ", ".join(places),
            "uninstall all but one",
        )
    entries = metadata.entry_points(group="pytest11")
    if _version("pytest") and not any(e.name == "mlax_scaffold" for e in entries):
        yield Problem(
            "pytest does not know the fixtures of mlax-scaffold",
            "install mlax-scaffold, or pass -p mlax_scaffold.pytest_plugin",
        )
    if error := _formatter_error():
        yield Problem(
            f"the formatter cannot be run: {error}",
            "pip install --force-reinstall ruff",
        )
    temporary = os.environ.get("TMPDIR")
    if temporary and not os.access(temporary, os.W_OK):
        yield Problem(f"TMPDIR is {temporary}, which cannot be written", "name another")


def _copies() -> Iterator[str]:
    for entry in sys.path:
        place = os.path.join(entry or os.getcwd(), "mlax_scaffold", "__init__.py")
        if os.path.isfile(place):
            yield os.path.dirname(place)


def _formatter_error() -> str:
    """Why the formatter of the installed version cannot be run, or ""."""
    wanted = _version("ruff")
    if not wanted:
        return ""
    from ruff.__main__ import find_ruff_bin

    try:
        done = subprocess.run(
            [find_ruff_bin(), "--version"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    said = done.stdout.strip().removeprefix("ruff ")
    if done.returncode != 0:
        return done.stderr.strip() or f"status {done.returncode}"
    return "" if said == wanted else f"it is {said}, though {wanted} is installed"


def _known(workspace: Workspace) -> Iterator[tuple[str, str]]:
    project = workspace.project
    yield "root", workspace.root
    yield "package", f"{project.package}, in {project.output}"
    yield "specs", f"{len(workspace.own)} in {project.specs}"
    if project.plugins:
        yield "plugins", ", ".join(project.plugins)
    yield "tests", project.tests
    yield "docs", project.docs
    yield "imported from", _origin(project.package) or "nowhere, as it stands"


def _wrong_project(workspace: Workspace, *, readable: bool) -> Iterator[Problem]:
    project, root = workspace.project, workspace.root
    own = os.path.realpath(os.path.join(root, project.output))
    origin = _origin(project.package)
    if origin and os.path.isdir(own) and os.path.realpath(origin) != own:
        yield Problem(
            f"{project.package} is imported from {origin}, not from this project",
            f"put {os.path.join(root, import_root(project))} first in PYTHONPATH, or "
            "uninstall the other one",
        )
    if title := interrupted(root):
        yield Problem(
            f'the run "{title}" was interrupted while it was writing',
            "mlax-scaffold generate completes it",
        )
    if workspace.lock.damaged:
        yield Problem(
            "mlax-scaffold.lock holds merge conflicts, or is no record",
            "mlax-scaffold generate heals it",
        )
    if os.path.isdir(os.path.join(root, ".git")) and missing_attributes(root, project):
        yield Problem(
            ".gitattributes does not let generated files merge by themselves",
            f"mlax-scaffold init --package {project.package}",
        )
    if not os.access(root, os.W_OK):
        yield Problem(f"{root} cannot be written", "make it writable")
    for status in workspace.strays if readable else ():
        yield Problem(f"{status.path} is not read", status.detail)


def _origin(package: str) -> str:
    """The folder that a package would be imported from, or ""."""
    folder = ""
    for index, part in enumerate(package.split(".")):
        paths = [folder] if index else [p or os.getcwd() for p in sys.path]
        places = (os.path.join(path, part) for path in paths)
        folder = next((p for p in places if os.path.isdir(p)), "")
        if not folder:
            found = importlib.util.find_spec(part) if not index else None
            locations = list(found.submodule_search_locations or ()) if found else []
            if not locations:
                return ""
            folder = locations[0]
    return folder


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _place(name: str) -> str:
    found = importlib.util.find_spec(name)
    return os.path.dirname(found.origin) if found and found.origin else ""


def satisfies(version: str, asked: str) -> bool:
    """Whether a version is within bounds such as `>=0.17.5,<0.18`."""
    given = _numbers(version)
    for sign, number in re.findall(r"([<>=!~]+)\s*([\d.]+)", asked):
        limit = _numbers(number)
        width = max(len(given), len(limit))
        ours, theirs = (n + (0,) * (width - len(n)) for n in (given, limit))
        if (sign == ">=" and ours < theirs) or (sign == "<" and ours >= theirs):
            return False
        if sign == "==" and ours != theirs:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
