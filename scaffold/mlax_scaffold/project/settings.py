"""The settings of a project: `[tool.mlax-scaffold]` in its pyproject.toml."""

from __future__ import annotations

import keyword
import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.project import Project
from mlax_scaffold.spelling import did_you_mean
from mlax_scaffold.write.tree import STATE_DIR, path_fault

FILE = "pyproject.toml"
TABLE = "mlax-scaffold"
NAMES = ("package", "specs", "output", "tests", "docs")
FLAGS = ("document_fields", "state_requirements")
PLUGINS = "plugins"
KEYS = (*NAMES, *FLAGS, PLUGINS)


def find_project(start: str | None = None) -> tuple[str, Project]:
    """The root and the settings of the project that a folder belongs to.

    Args:
        start: the folder; default: the current one.

    Raises:
        UsageError: it belongs to none, or the settings are wrong.
    """
    first = os.path.realpath(start or os.getcwd())
    folder = first
    while True:
        table = read_table(folder)
        if table is not None:
            return folder, settings(table, os.path.join(folder, FILE))
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    raise UsageError(
        f"{first} is no mlax-scaffold project: neither it nor a folder above it has a "
        f"{FILE} with a table [tool.{TABLE}].\n"
        "To make it one: mlax-scaffold init NAME"
    )


def find_changed(start: str | None = None) -> str:
    """The root of the nearest project that was changed by a command: one, or one that owns source.

    Raises:
        UsageError: there is none.
    """
    folder = os.path.realpath(start or os.getcwd())
    while not os.path.isdir(os.path.join(folder, STATE_DIR)):
        above = os.path.dirname(folder)
        if above == folder or read_table(folder) is not None:
            return find_project(start)[0]
        folder = above
    return folder


def read_pyproject(folder: str) -> dict[str, Any] | None:
    """The content of a folder's pyproject.toml; None where there is none.

    Raises:
        UsageError: it cannot be read.
    """
    place = os.path.join(folder, FILE)
    try:
        with open(place, "rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{place} is not valid TOML: {error}") from error
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {error.strerror}") from error


def read_table(folder: str) -> Mapping[str, Any] | None:
    """The settings as written in a folder's pyproject.toml; None where it has none."""
    content = read_pyproject(folder) or {}
    tools = content.get("tool", {})
    table = tools.get(TABLE) if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        place = os.path.join(folder, FILE)
        raise UsageError(f"{place}: tool.{TABLE} is {table!r}, expected a table")
    return table


def settings(table: Mapping[str, Any], place: str) -> Project:
    """The settings that a table holds.

    Args:
        table: the table.
        place: what errors call the file.

    Raises:
        UsageError: naming every mistake.
    """
    where = f"{place}, [tool.{TABLE}]"
    mistakes = []
    for key in table:
        if key not in KEYS:
            close = did_you_mean(key, KEYS) or f"the keys are {', '.join(KEYS)}"
            mistakes.append(f'unknown key "{key}"; {close}')
    values = {}
    flags = {}
    for key in FLAGS:
        flags[key] = table.get(key, False)
        if not isinstance(flags[key], bool):
            mistakes.append(f"{key} is {flags[key]!r}, expected true or false")
    for key in NAMES:
        value = table.get(key, None)
        if value is None and key == "package":
            if not mistakes:
                mistakes.append('there is no "package": the name to import it by')
        elif value is not None and not isinstance(value, str):
            mistakes.append(f"{key} is {value!r}, expected a string")
        elif value is not None:
            values[key] = value
    plugins = table.get(PLUGINS, [])
    mistakes += _plugin_mistakes(plugins)
    if not mistakes:
        mistakes = package_mistakes(values["package"])
    if mistakes:
        raise UsageError(_joined(where, mistakes))
    project = replace(project_of(**values), **flags, plugins=tuple(plugins))
    mistakes = path_mistakes(project)
    if mistakes:
        raise UsageError(_joined(where, mistakes))
    return project


def project_of(
    package: str,
    specs: str | None = None,
    output: str | None = None,
    tests: str | None = None,
    docs: str | None = None,
) -> Project:
    """The settings, with defaults in the place of None."""
    return Project(
        package=package,
        specs=_plain(specs or "specs"),
        output=_plain(output or package.replace(".", "/")),
        tests=_plain(tests or "tests/generated"),
        docs=_plain(docs or "docs/reference"),
    )


def package_mistakes(package: str) -> list[str]:
    """Why a text cannot be the name of a package."""
    for part in package.split("."):
        if not (part.isascii() and part.isidentifier()) or keyword.iskeyword(part):
            return [
                f'package is "{package}", expected a name that Python can import, '
                'such as "mynet" or "mynet.layers"'
            ]
    return []


def _plugin_mistakes(value: object) -> list[str]:
    """Why a value cannot be the plugins of a project."""
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        return [f'{PLUGINS} is {value!r}, expected a list of names such as ["mypack"]']
    twice = sorted({name for name in value if value.count(name) > 1})
    return [f'{PLUGINS} names "{name}" twice' for name in twice]


def path_mistakes(project: Project) -> list[str]:
    """Why the paths of a project do not do."""
    paths = {key: getattr(project, key) for key in NAMES[1:]}
    mistakes = [
        f'{key} is "{path}", but {fault}; expected a folder inside the project'
        for key, path in paths.items()
        if (fault := path_fault(path))
    ]
    if mistakes:
        return mistakes
    wanted = project.package.replace(".", "/")
    if not f"/{project.output}".endswith(f"/{wanted}"):
        mistakes.append(
            f'output is "{project.output}", expected a path that ends in "{wanted}", '
            "so that the package can be imported by its name"
        )
    keys = list(paths)
    for index, one in enumerate(keys):
        for other in keys[index + 1 :]:
            if paths[one].casefold() == paths[other].casefold():
                mistakes.append(f'{one} and {other} are both "{paths[one]}"')
    return mistakes


def import_root(project: Project) -> str:
    """The folder, relative to the root, that the package is imported from; may be ""."""
    return project.output.removesuffix(project.package.replace(".", "/")).rstrip("/")


def _plain(path: str) -> str:
    return path.removeprefix("./").rstrip("/") or path


def _joined(where: str, mistakes: list[str]) -> str:
    if len(mistakes) == 1:
        return f"{where}: {mistakes[0]}"
    return f"{where}:" + "".join(f"\n  {mistake}" for mistake in mistakes)
