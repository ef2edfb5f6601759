"""Making a folder a project: what its pyproject.toml needs, and what it has already."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.project import Project
from mlax_scaffold.project.archetypes import rendered
from mlax_scaffold.project.settings import (
    FILE,
    import_root,
    package_mistakes,
    path_mistakes,
    project_of,
    read_pyproject,
    read_table,
    settings,
)
from mlax_scaffold.write import LOCK_NAME, Change, CommitReport, LockFile, Plan, commit

# What generated code imports, and what would not be found any more beside the package.
_TAKEN = {
    *("jax", "jaxlib", "numpy", "scipy", "click", "jinja2", "libcst", "ruff", "pytest"),
    *("hypothesis", "mlax_scaffold", "specs", "tests", "docs"),
}
_RUFF_FILES = ("ruff.toml", ".ruff.toml")
ATTRIBUTES = ".gitattributes"


@dataclass(frozen=True)
class Prepared:
    """What making a folder a project takes."""

    root: str
    plan: Plan
    added: str
    """The text that is added to pyproject.toml."""
    extends: bool
    """Whether there is a pyproject.toml that it is added to."""
    advice: tuple[str, ...]
    """What the person is to add, because it cannot be appended."""


def prepare(
    folder: str,
    package: str,
    specs: str | None = None,
    output: str | None = None,
    tests: str | None = None,
    docs: str | None = None,
) -> Prepared:
    """What making a folder a project takes. Writes nothing.

    Raises:
        UsageError: the name or a path will not do, or pyproject.toml cannot be read.
    """
    root = os.path.realpath(folder)
    mistakes = package_mistakes(package)
    if mistakes:
        raise UsageError(mistakes[0])
    project = project_of(package, specs, output, tests, docs)
    content = read_pyproject(root)
    table = read_table(root)
    if table is not None:
        existing = settings(table, os.path.join(root, FILE))
        _check_same(existing, project, root)
        return Prepared(root, _plan(root, [_attributes(root, existing)]), "", False, ())
    mistakes = path_mistakes(project) or _name_mistakes(project)
    if mistakes:
        raise UsageError("; ".join(mistakes))
    _check_vacant(root, project)
    before = _read(root, FILE)
    parts = list(_parts(root, project, content))
    added = "\n".join(parts)
    after = _appended(before, added)
    _check_additive(root, content or {}, after)
    advice = tuple(_advice(root, project, content)) if content is not None else ()
    plan = _plan(root, [Change(FILE, before, after), _attributes(root, project)])
    return Prepared(root, plan, added, content is not None, advice)


def initialize(prepared: Prepared) -> CommitReport:
    """Write what was prepared."""
    return commit(prepared.root, prepared.plan, title="init")


def _check_same(existing: Project, wanted: Project, root: str) -> None:
    if existing.package != wanted.package:
        raise UsageError(
            f'{root} is the project of "{existing.package}" already; to rename the '
            f'package, edit "package" and "output" in {FILE} and run '
            "`mlax-scaffold generate`"
        )


def _name_mistakes(project: Project) -> list[str]:
    top = project.package.partition(".")[0]
    if top in sys.stdlib_module_names:
        return [
            f'"{top}" is a module of Python itself, which the package would hide; '
            "choose another name"
        ]
    if top in _TAKEN:
        return [
            f'"{top}" is taken: generated code or its tests import it; choose another'
        ]
    return []


def _check_vacant(root: str, project: Project) -> None:
    place = os.path.join(root, project.output)
    if not os.path.lexists(place):
        return
    if os.path.isdir(place):
        recorded = LockFile.read(root).outputs
        ours = any(path.startswith(f"{project.output}/") for path in recorded)
        if ours or _is_empty(place):
            return
    raise UsageError(
        f"{project.output} exists, and mlax-scaffold did not generate it; choose "
        f"another name, or a package inside it: --package {project.package}.layers "
        f"--output {project.output}/layers"
    )


def _is_empty(place: str) -> bool:
    """Whether a folder holds nothing but what Python leaves when a package is deleted."""
    return not any(
        files and os.path.basename(folder) != "__pycache__"
        for folder, _, files in os.walk(place)
    )


def _parts(
    root: str, project: Project, content: dict[str, Any] | None
) -> Iterator[str]:
    yield rendered("project/mlax_scaffold.toml.jinja", project=project)
    if content is None:
        yield _pytest(project)
    if not _has_ruff(root, content):
        yield rendered("project/ruff.toml.jinja", project=project)
    if not _has_pyright(root, content):
        yield rendered("project/pyright.toml.jinja", project=project)


def _advice(root: str, project: Project, content: dict[str, Any]) -> Iterator[str]:
    where = f"Add to the settings of {{}}, in {FILE} or where they are:\n\n{{}}"
    paths = _tool(content, "pytest", "ini_options").get("pythonpath", [])
    if (import_root(project) or ".") not in paths:
        yield where.format(
            "pytest, unless the package is installed", _pytest(project).rstrip()
        )
    ruff = _tool(content, "ruff", "lint", "per-file-ignores")
    if _has_ruff(root, content) and f"{project.specs}/**" not in ruff:
        text = rendered("project/ruff.toml.jinja", project=project)
        yield where.format("ruff, if you use it", text.rstrip())
    if _has_pyright(root, content):
        text = rendered("project/pyright.toml.jinja", project=project)
        yield where.format("pyright, if you use it", text.rstrip())


def _pytest(project: Project) -> str:
    return rendered(
        "project/pytest.toml.jinja",
        import_root=import_root(project) or ".",
        tests=project.tests.partition("/")[0],
    )


def _has_ruff(root: str, content: dict[str, Any] | None) -> bool:
    # A lint table that is written inline cannot be extended by a table.
    lint = _tool(content, "ruff").get("lint")
    return lint is not None or _any_file(root, _RUFF_FILES)


def _has_pyright(root: str, content: dict[str, Any] | None) -> bool:
    return bool(_tool(content, "pyright")) or _any_file(root, ["pyrightconfig.json"])


def _any_file(root: str, names: tuple[str, ...] | list[str]) -> bool:
    return any(os.path.exists(os.path.join(root, name)) for name in names)


def _tool(content: dict[str, Any] | None, *path: str) -> dict[str, Any]:
    found: Any = content or {}
    for key in ("tool", *path):
        found = found.get(key, {}) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def _attributes(root: str, project: Project) -> Change:
    """What tells git that generated files and their record merge by the union of lines.

    A file that such a merge makes no sense of is generated anew; a registry, and the
    record, have the lines of both sides, as they should.
    """
    before = _read(root, ATTRIBUTES)
    missing = missing_attributes(root, project)
    if not missing:
        return Change(ATTRIBUTES, before, before)
    title = "# What mlax-scaffold generates merges by itself."
    return Change(
        ATTRIBUTES, before, _appended(before, "\n".join([title, *missing, ""]))
    )


def missing_attributes(root: str, project: Project) -> list[str]:
    """The lines that .gitattributes lacks for generated files to merge by themselves."""
    known = (_read(root, ATTRIBUTES) or b"").decode(errors="replace").splitlines()
    places = (*(f"/{folder}/**" for folder in project.folders), f"/{LOCK_NAME}")
    wanted = [f"{place} merge=union linguist-generated" for place in places]
    return [line for line in wanted if line not in known]


def _read(root: str, name: str) -> bytes | None:
    try:
        with open(os.path.join(root, name), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _appended(before: bytes | None, added: str) -> bytes:
    if not before:
        return added.encode()
    # The lines that are there stay as they are, and so do their endings.
    ending = b"\r\n" if b"\r\n" in before else b"\n"
    gap = b"" if before.endswith(b"\n") else ending
    return before + gap + ending + added.encode().replace(b"\n", ending)


def _check_additive(root: str, content: dict[str, Any], after: bytes) -> None:
    place = os.path.join(root, FILE)
    try:
        result = tomllib.loads(after.decode())
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"{place} cannot be extended at its end ({error}); add the table "
            '[tool.mlax-scaffold] with package = "..." to it by hand'
        ) from error
    if not _contains(result, content):
        raise UsageError(f"{place} would not mean the same; add the table by hand")


def _contains(whole: Any, part: Any) -> bool:
    if isinstance(whole, dict) and isinstance(part, dict):
        return all(key in whole and _contains(whole[key], part[key]) for key in part)
    return whole == part


def _plan(root: str, changes: Iterable[Change]) -> Plan:
    lock = _read(root, LOCK_NAME)
    changed = tuple(change for change in changes if change.before != change.after)
    return Plan(changed, Change(LOCK_NAME, lock, lock))
