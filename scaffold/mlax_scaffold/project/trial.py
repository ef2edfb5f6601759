"""Tries what a command is about to write: imports and traces it in a copy, in a process of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import Any

from mlax_scaffold.errors import Diagnostic, FindingsError, SpecError
from mlax_scaffold.model.definition import Definition, Kind
from mlax_scaffold.model.library import Library
from mlax_scaffold.project.calls_of_layers import (
    by_names,
    with_last_channels,
    with_sequences,
)
from mlax_scaffold.project.missing_names import explained_name
from mlax_scaffold.project.open_axes import with_shapes
from mlax_scaffold.project.progress import plural, progress
from mlax_scaffold.project.settings import import_root
from mlax_scaffold.project.staging import Stage, staged_package
from mlax_scaffold.project.tracebacks import explained, explained_step
from mlax_scaffold.project.trial_failures import Failure
from mlax_scaffold.project.trial_program import PROGRAM
from mlax_scaffold.project.tried import Keys, Tried
from mlax_scaffold.project.workspace import Generation, Workspace
from mlax_scaffold.reader.axes.trying import shapes_to_try
from mlax_scaffold.reader.remedies.mending import mend
from mlax_scaffold.render.scratch import fill
from mlax_scaffold.write import Plan

LONGEST = 600.0
"""Seconds that a trial may take: it computes nothing."""

MOST = 100
"""Definitions that are traced: where more change, importing them is enough to wait for."""


def try_out(
    workspace: Workspace, made: Generation, plan: Plan, tried: Tried | None = None
) -> None:
    """Import the whole package as it would be, where a module of it would change.

    What changes is traced, too, on arrays of the shapes that its types say, and what its spec
    reads of modules of jax is looked for there.

    Args:
        workspace: the project.
        made: what would be generated.
        plan: what of it would be written.
        tried: what trials before found of what is the same; what this one finds is kept there.

    Raises:
        SpecError: a module does not import, or cannot be traced; the place is that of its spec.
        FindingsError: one that follows from no spec does not, or the process ended early.
    """
    modules = _modules(workspace, made)
    changed = {change.path for change in plan.changes} & set(modules)
    if not changed:
        return
    with (
        progress(f"Trying {plural(len(modules), 'module')} out"),
        staged_package(workspace, made) as stage,
    ):
        new = _new_specs(workspace, made)
        if new:
            fill(stage.root, {f.path: f.text for f in workspace.own} | new)
        traced = _traced(workspace, made, changed, stage.root if new else "")
        tried = tried or Tried()
        keys = Keys(made, workspace.project.package, modules, workspace.project.specs)
        for definition, given in traced:
            key = keys.of(definition, given)
            given |= {"key": key, "known": tried.known(key)}
        given = [given for _, given in traced]
        told = _run(stage, {"modules": sorted(modules.values()), "traced": given})
        found = told["found"]
        tried.keep([g for g in given if g["definition"] not in told["left"]], found)
    failures = [Failure.read(told) for told in found]
    if findings := _findings(made, failures):
        error = SpecError(findings)
        mended = mend(workspace.own, error, workspace.read_files)
        raise SpecError(error.diagnostics, mended.texts, left=mended.left)
    others = [f for f in failures if f.module]
    if others:
        lines = [f"{f.module} does not import: {f.error}" for f in others]
        raise FindingsError("\n".join(lines) + "\nNothing was changed.")


def _new_specs(workspace: Workspace, made: Generation) -> dict[str, str]:
    """The texts of specs of the project that are not on the disk yet, or are others there, by path."""
    start = f"{workspace.project.specs}/"
    return {
        d.source: d.text
        for d in made.library
        if d.source.startswith(start)
        and _on_disk(os.path.join(workspace.root, d.source)) != d.text
    }


def _on_disk(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None


def _modules(workspace: Workspace, made: Generation) -> dict[str, str]:
    """The names of the package's modules, by their paths."""
    base = os.path.normpath(import_root(workspace.project)).replace(os.sep, "/")
    start = "" if base == "." else f"{base}/"
    found = {}
    for output in made.outputs:
        path = output.path
        if path.startswith(f"{workspace.project.output}/") and path.endswith(".py"):
            name = path.removeprefix(start).removesuffix(".py").replace("/", ".")
            found[path] = name.removesuffix(".__init__")
    return found


def _traced(
    workspace: Workspace, made: Generation, changed: Collection[str], new: str
) -> list[tuple[Definition, dict[str, Any]]]:
    """What changes: its spec, the modules that it imports, and the example of its page.

    `new` is the folder that specs are in, where not all of them are in the project yet.
    """
    from mlax_scaffold.render.docs.example import example

    sources = {output.source for output in made.outputs if output.path in changed}
    start = f"{workspace.project.specs}/"
    # What was installed has been tried where it comes from.
    own = (d for d in made.library if d.source.startswith(start))
    found = [d for d in own if d.source in sources]
    if len(found) > MOST:
        return []
    found = _in_order(made.library, found)
    package = workspace.project.package
    traced = []
    for definition in found:
        code = example(definition, made.library, package)
        imports = {i.name: i.meaning for i in definition.imports if not i.reference}
        given = {
            "source": definition.source,
            "definition": _name(definition),
            "owner": definition.name,
            "guesses": _guesses(workspace, definition),
            "text": definition.text,
            "imports": imports,
            # The package's names are there without an import.
            "code": code.replace(f"\nfrom {package} import", "\n# from"),
            "cases": _cases(new or workspace.root, made, definition),
            "paths": [o.path for o in made.of(definition.source)],
            "modules": _own_modules(made, definition),
            "wide": _may_be_wide(definition, made.library),
            "schedule": definition.module if definition.kind is Kind.SCHEDULE else "",
        }
        traced.append((definition, given))
    return traced


def _guesses(workspace: Workspace, definition: Definition) -> Mapping[str, list[str]]:
    """The shapes that inputs may have which are not typed in the spec as its author wrote it."""
    written = _on_disk(os.path.join(workspace.root, definition.source))
    if written is None or written == definition.text:
        return {}
    given = written, definition.text, definition.name, definition.source
    return shapes_to_try(*given)


def _own_modules(made: Generation, definition: Definition) -> list[str]:
    """The paths of the modules that a definition becomes."""
    section, name = definition.section, definition.module
    ends = f"/{section}/{name}.py", f"/{section}/_{name}.py"
    return [o.path for o in made.of(definition.source) if o.path.endswith(ends)]


def _in_order(library: Library, given: Sequence[Definition]) -> list[Definition]:
    """The definitions, each behind those of them that it is built on."""
    places = {(d.section, d.name): d for d in given}
    uses = {
        place: [
            used
            for r in library.references(d)
            if (used := (library[r].section, library[r].name)) in places
        ]
        for place, d in places.items()
    }
    return [places[place] for place in TopologicalSorter(uses).static_order()]


def _may_be_wide(definition: Definition, library: Library) -> bool:
    """Whether it is to compute in wider dtypes than that of its input, too."""
    wide = {"float32", "float64"} & {
        *definition.named_dtypes,
        *library.own_dtypes(definition),
    }
    return (
        bool(wide)
        or any(h.type.word.declares_dtype for h in definition.hyperparameters)
        or any(m.stored for m in definition.methods)
        or any(i.name == "widened" for i in definition.imports)
    )


def _cases(
    root: str, made: Generation, definition: Definition
) -> tuple[str, str] | None:
    """The path and the text of the generated tests of a definition, which pick its cases."""
    section = definition.section
    name = f"/{section}/test_{section}_{definition.module}.py"
    for output in made.of(definition.source):
        if output.path.endswith(name):
            return os.path.join(root, output.path), output.text
    return None


def _run(stage: Stage, task: dict[str, object]) -> dict[str, Any]:
    given, result = (os.path.join(stage.root, n) for n in ("task.json", "trial.json"))
    with open(given, "w", encoding="utf-8") as file:
        json.dump(task, file)
    outcome = stage.run(PROGRAM, [stage.root + os.sep, given, result], LONGEST)
    try:
        with open(result, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise FindingsError(
            f"{outcome.output.strip()}\n\nTrying out what would be generated ended with "
            f"status {outcome.status}. Nothing was changed."
        ) from None


def _name(definition: Definition) -> str:
    """What no other definition has: a spec may hold several."""
    return f"{definition.source}:{definition.name}"


def _made_into(path: str, library: Library, one: Definition) -> Definition:
    """The definition of a spec, of which there is one, that a module follows from."""
    stem = path.rpartition("/")[2].removesuffix(".py").lstrip("_")
    found = (d for d in library if d.source == one.source and d.module == stem)
    return next(found, one)


def _findings(made: Generation, failures: Iterable[Failure]) -> list[Diagnostic]:
    outputs = {output.path: output for output in made.outputs}
    definitions = {definition.source: definition for definition in made.library}
    traced = {_name(definition): definition for definition in made.library}
    failures = list(failures)
    found: list[Diagnostic] = []
    named = {failure.source for failure in failures if failure.name}
    for failure in failures:
        if failure.name is not None:
            found += explained_name(definitions[failure.source], failure.name)
            continue
        if "Tied" in failure.kinds:
            found += with_shapes(traced[failure.definition], failure)
            continue
        if "OneStep" in failure.kinds:
            found += explained_step(traced[failure.definition])
            continue
        own = [
            (frame, _made_into(frame.path, made.library, definitions[source]))
            for frame in failure.frames
            if frame.path in outputs
            and (source := outputs[frame.path].source) in definitions
        ]
        if own:
            frame, definition = own[-1]
            if definition.source in named:
                continue
            mine = traced.get(failure.definition, definition)
            given = made.library, mine, failure
            told = with_last_channels(*given) or with_sequences(*given)
            if told := told or by_names(*given):
                found += told
                continue
            apart = _name(definition) != _name(mine)
            # What a block is given may be at fault, but not where the defaults are refused.
            own_fault = failure.default or not mine.structural()
            if failure.always and apart and own_fault:
                # What it is built on refuses all that it is given: the caller is at fault.
                calls = [(f, d) for f, d in own if _name(d) == _name(mine)]
                frame, definition = calls[-1] if calls else own[-1]
            text = outputs[frame.path].text
            found += explained(definition, mine, failure, frame, text)
    return found
