"""What a change of the generator, of a plugin or of specs does to all that is generated."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tarfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from mlax_scaffold.errors import FindingsError, UsageError
from mlax_scaffold.project.hunks import Group, groups
from mlax_scaffold.project.imported import imported
from mlax_scaffold.project.progress import plural, progress
from mlax_scaffold.project.public import SignatureChange, signature_changes
from mlax_scaffold.project.settings import import_root
from mlax_scaffold.project.staging import Stage
from mlax_scaffold.project.workspace import Generation, Workspace
from mlax_scaffold.render.scratch import fill, scratch
from mlax_scaffold.write import LOCK_NAME, LockFile

_EXAMPLE = re.compile(r"^## Example\n\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PROGRAM = "from mlax_scaffold.testing.impact import main; main()"
LONGEST = 3600.0
"""Seconds that tracing all definitions on both sides may take."""


@dataclass(frozen=True)
class Behaviour:
    """What a definition does otherwise than before."""

    reference: str
    leaves: Mapping[str, tuple[str | None, str | None]]
    """Weights and states of another shape or dtype, or that are new or gone: checkpoints do not fit."""
    created: tuple[str, ...]
    """Weights and states that `init` makes otherwise of the same key."""
    results: tuple[str, ...]
    """Results, and derivatives, that are computed by other operations."""
    draws: tuple[int, int] | None
    """How often a step draws or splits keys, before and after, where it does so otherwise."""
    fault: Mapping[str, str]
    """By side ("before", "after") why nothing could be traced."""


@dataclass(frozen=True)
class Impact:
    """All that a change does."""

    since: str
    """The revision that it is compared with; empty for the files as they are."""
    created: tuple[str, ...]
    deleted: tuple[str, ...]
    updated: tuple[str, ...]
    groups: tuple[Group, ...]
    signatures: tuple[SignatureChange, ...]
    behaviours: tuple[Behaviour, ...]
    compared: int
    """How many definitions were traced on both sides: those that what changes can reach."""


def impact(workspace: Workspace, since: str = "") -> Impact:
    """Compare what would be generated with what is, or with what was at a revision of git.

    Raises:
        SpecError: a spec is invalid.
        UsageError: there is no such revision, or griffe is not installed.
        FindingsError: tracing ended early.
    """
    made = workspace.generate()
    after = {output.path: output.text for output in made.outputs}
    before = _at(workspace, since) if since else _on_disk(workspace, after)
    changed = {p for p in after.keys() & before.keys() if before[p] != after[p]}
    names = {
        output.path: (d.name, d.module, d.module_name if d.kind.is_layer else d.name)
        for d in made.library
        for output in made.of(d.source)
    }
    old, new = (_modules(workspace, texts) for texts in (before, after))
    reached = _reached(workspace, made, old, new)
    return Impact(
        since,
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(before.keys() - after.keys())),
        tuple(sorted(changed)),
        tuple(groups(before, after, names)),
        tuple(signature_changes(old, new)),
        tuple(_behaviours(workspace, made, before, after, reached)),
        len(reached),
    )


def _on_disk(workspace: Workspace, after: Collection[str]) -> dict[str, str]:
    """The generated files as they are."""
    found = {}
    for path in {*workspace.lock.outputs, *after}:
        try:
            with open(os.path.join(workspace.root, path), encoding="utf-8") as file:
                found[path] = file.read()
        except (FileNotFoundError, NotADirectoryError):
            continue
    return found


def _at(workspace: Workspace, revision: str) -> dict[str, str]:
    """The generated files as they were at a revision."""
    project = workspace.project
    record = _git(workspace, revision, "show", f"{revision}:./{LOCK_NAME}")
    known = LockFile.parse(record.decode()).outputs
    folders = [
        folder
        for folder in project.folders
        if any(path.startswith(f"{folder}/") for path in known)
    ]
    data = _git(workspace, revision, "archive", "--format=tar", revision, *folders)
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None and member.name in known:
                found[member.name] = file.read().decode().replace("\r\n", "\n")
    return found


def _git(workspace: Workspace, revision: str, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=workspace.root,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise UsageError("--since needs git, which is not installed") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise UsageError(
            f'"{revision}" is no revision that holds what this project generated: {said}'
        )
    return done.stdout


def _modules(workspace: Workspace, texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of the package's modules, by their names."""
    base = import_root(workspace.project)
    start = f"{base}/" if base else ""
    output = f"{workspace.project.output}/"
    return {
        path.removeprefix(start)
        .removesuffix(".py")
        .replace("/", ".")
        .removesuffix(".__init__"): text
        for path, text in texts.items()
        if path.startswith(output) and path.endswith(".py")
    }


def _reached(
    workspace: Workspace,
    made: Generation,
    before: Mapping[str, str],
    after: Mapping[str, str],
) -> set[str]:
    """The sources of definitions that are on both sides, and that a change can reach."""
    changed = {n for n, text in after.items() if before.get(n) != text}
    changed |= before.keys() - after.keys()
    uses = {name: set(imported(name, text, after)) for name, text in after.items()}
    while True:
        more = {n for n, found in uses.items() if n not in changed and found & changed}
        if not more:
            break
        changed |= more
    base = workspace.project.package
    found = set()
    for definition in made.library:
        place = f"{base}.{definition.section}."
        own = {f"{place}{definition.module}", f"{place}_{definition.module}"}
        if own & changed and own & before.keys():
            found.add(definition.source)
    return found


def _behaviours(
    workspace: Workspace,
    made: Generation,
    before: Mapping[str, str],
    after: Mapping[str, str],
    reached: Collection[str],
) -> list[Behaviour]:
    from mlax_scaffold.render.docs.example import example

    package = workspace.project.package
    examples: tuple[dict[str, str], dict[str, str]] = {}, {}
    untold: dict[str, dict[str, Any]] = {}
    for d in made.library:
        if d.source in reached:
            name = f"{d.section}.{d.name}"
            code = example(d, made.library, package)
            if not code:
                fault = {"after": "its page has no example that could be traced"}
                untold[name] = {"fault": fault}
                continue
            # Each side is called as it is to be called.
            page = before.get(f"{workspace.project.docs}/{d.section}/{d.module}.md", "")
            earlier = _EXAMPLE.search(page)
            examples[0][name] = earlier[1] if earlier else code
            examples[1][name] = code
    if not any(examples) and not untold:
        return []
    said = f"Tracing {plural(len(examples[1]), 'definition')} on both sides"
    with progress(said), scratch() as root:
        sides = []
        for name, texts in (("before", before), ("after", after)):
            folder = os.path.join(root, name)
            base = f"{workspace.project.output}/"
            fill(folder, {p: t for p, t in texts.items() if p.startswith(base)})
            sides.append(os.path.join(folder, import_root(workspace.project)))
        # In a file: no command line holds the examples of a library.
        task, place = (os.path.join(root, n) for n in ("task.json", "result.json"))
        with open(task, "w", encoding="utf-8") as file:
            json.dump([sides, package, examples], file)
        stage = Stage(root, (), (workspace.root, *workspace.plugin_roots))
        outcome = stage.run(_PROGRAM, [task, place], LONGEST)
        try:
            with open(place, encoding="utf-8") as file:
                found: dict[str, dict[str, Any]] = json.load(file)
        except FileNotFoundError:
            raise FindingsError(
                f"{outcome.output.strip()}\n\nTracing ended with status {outcome.status}."
            ) from None
    return [
        Behaviour(
            reference,
            {n: (old, new) for n, (old, new) in told.get("leaves", {}).items()},
            tuple(told.get("created", ())),
            tuple(told.get("results", ())),
            tuple(told["draws"]) if "draws" in told else None,
            told.get("fault", {}),
        )
        for reference, told in sorted((found | untold).items())
    ]
