"""Renaming, moving and removing a definition, with all that uses it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from mlax_scaffold.errors import ConflictError, UsageError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.model.project import Project
from mlax_scaffold.project.edits import (
    Edits,
    exported,
    renamed,
    spec_names,
    words,
)
from mlax_scaffold.project.lookup import find_definition
from mlax_scaffold.project.names import check_free, check_name
from mlax_scaffold.project.parity import on_disk, parity_path
from mlax_scaffold.project.sources import Mention, mentions
from mlax_scaffold.project.workspace import Generation, Workspace
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.write import Plan


@dataclass(frozen=True)
class Refactoring:
    """What renaming, moving or removing a definition takes."""

    title: str
    workspace: Workspace
    """The project with its specs as they are to be."""
    made: Generation
    plan: Plan
    edited: tuple[str, ...]
    """Files of the person's that change, specs among them."""
    mentioned: tuple[Mention, ...]
    """Text that has the old name in it, and stays."""
    moved: Mapping[str, str]
    """New paths of files of the person's, by their old ones."""


def rename(workspace: Workspace, name: str, new: str) -> Refactoring:
    """Give a definition another name, and its spec's file where that is named after it.

    Raises:
        UsageError: there is no such definition of the project, or the name will not do.
        SpecError: a spec is invalid.
    """
    definition, spec = _own(workspace, name)
    others = [f for f in (*workspace.own, *workspace.built_in) if f.path != spec.path]
    check_name(new, definition.kind)
    if new == definition.name:
        raise UsageError(f"{new} is its name already")
    check_free(new, definition.kind, others)
    folder, _, file = spec.path.rpartition("/")
    if file == f"{module_name(definition.name)}.py":
        file = f"{module_name(new)}.py"
    return _changed(
        workspace, definition, spec, new, f"{folder}/{file}", f"rename {name} {new}"
    )


def move(workspace: Workspace, name: str, to: str) -> Refactoring:
    """Give the spec of a definition another place, and its code where that is another section.

    Args:
        workspace: the project.
        name: the definition's name.
        to: a section, such as "block", or the path of the spec's file.

    Raises:
        UsageError: there is no such definition of the project, or no spec can be there.
        SpecError: a spec is invalid.
    """
    definition, spec = _own(workspace, name)
    path = _destination(workspace.project, definition, spec, to)
    return _changed(
        workspace, definition, spec, definition.name, path, f"move {name} {to}"
    )


def remove(workspace: Workspace, name: str, *, force: bool = False) -> Refactoring:
    """Remove a definition with all that follows from it.

    Args:
        workspace: the project.
        name: the definition's name.
        force: also where code of the project uses it.

    Raises:
        UsageError: there is no such definition of the project.
        ConflictError: others use it; it names each place.
        SpecError: a spec is invalid.
    """
    definition, spec = _own(workspace, name)
    library = workspace.read()
    users = [
        f"  {i.location}: {other.reference} is built on it"
        for other in library
        for i in other.imports
        if i.reference == definition.reference
    ]
    test = parity_path(workspace.project, spec.path)
    tests = [test] if on_disk(workspace.root, test) is not None else []
    skipped = {*workspace.lock.outputs, spec.path, *tests}
    made = workspace.generate()
    names = exported(made.of(spec.path), workspace.project, definition.name)
    names += spec_names(spec.path, definition.name)
    edits = Edits(workspace.root, words(definition))
    specs = {file.path for file in workspace.own}
    code = [
        f"  {path}:{line}: uses it"
        for path, lines in edits.uses(skipped | specs, names)
        for line in lines
    ]
    if users or (code and not force):
        raise ConflictError(
            f"{name} is in use:\n"
            + "\n".join([*users, *code])
            + "\nNothing was changed. Change these first"
            + ("." if users else ", or pass --force.")
        )
    after = replace(workspace, edited={spec.path: None})
    made = after.generate()
    plan = after.plan(made, extra_deletes=tests)
    found = mentions(workspace.root, skipped, definition.name, {})
    edited = (spec.path, *tests)
    return Refactoring(f"remove {name}", after, made, plan, edited, tuple(found), {})


def _own(workspace: Workspace, name: str) -> tuple[Definition, SpecFile]:
    definition = find_definition(workspace, name, workspace.read())
    for file in workspace.own:
        if file.path == definition.source:
            return definition, file
    raise UsageError(
        f"{definition.reference} comes with mlax-scaffold, and is no spec of this project"
    )


def _destination(
    project: Project, definition: Definition, spec: SpecFile, to: str
) -> str:
    file = spec.path.rpartition("/")[2]
    sections = [str(section) for section in definition.kind.sections]
    path = f"{project.specs}/{to}/{file}" if to in sections else to.removeprefix("./")
    folders = [f"{project.specs}/{section}" for section in sections]
    folder, _, file = path.rpartition("/")
    if folder not in folders or not file.endswith(".py") or file[:1] in "._":
        what = definition.kind.name.lower()
        raise UsageError(
            f'"{to}" is no place for a spec of a {what}; expected '
            f"{' or '.join(f'{folder}/NAME.py' for folder in folders)}"
        )
    if path == spec.path:
        raise UsageError(f"{path} is its place already")
    return path


def _changed(
    workspace: Workspace,
    definition: Definition,
    spec: SpecFile,
    new: str,
    path: str,
    title: str,
) -> Refactoring:
    if path != spec.path and os.path.lexists(os.path.join(workspace.root, path)):
        raise UsageError(f"{path} exists already; choose another place, or remove it")
    before = workspace.generate()
    edits = Edits(workspace.root, words(definition))
    specs = edits.of_specs(workspace, definition.name, new, spec.path, path)
    removed = [spec.path] if path != spec.path else []
    texts = {place: _text(data) for place, data in specs.items()}
    after = replace(workspace, edited={**texts, **dict.fromkeys(removed)})
    made = after.generate()
    skipped = {*workspace.lock.outputs, *removed}
    gone: list[str] = []
    moved = {spec.path: path} if removed else {}
    names = renamed(
        exported(before.of(spec.path), workspace.project, definition.name),
        exported(made.of(path), workspace.project, new),
    ) | renamed(spec_names(spec.path, definition.name), spec_names(path, new))
    own = {file.path for file in workspace.own}
    written = {**specs, **edits.of_code(skipped | own, names)}
    place, other = (parity_path(workspace.project, p) for p in (spec.path, path))
    test = on_disk(workspace.root, place)
    if test is not None and other != place:
        written[other] = written.pop(place, test)
        gone.append(place)
        moved[place] = other
    plan = after.plan(made, extra_updates=written, extra_deletes=gone)
    found: list[Mention] = []
    if new != definition.name:
        found = mentions(workspace.root, skipped, definition.name, written)
    edited = tuple(sorted({*written, *removed}))
    return Refactoring(title, after, made, plan, edited, tuple(found), moved)


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig").replace("\r\n", "\n")
