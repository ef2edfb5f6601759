"""Tries what a command is about to write: imports and traces it in a copy, in a process of its own."""

from __future__ import annotations

import json
import keyword
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from mlax_scaffold.cli.console import plural, progress
from mlax_scaffold.cli.failures import FindingsError
from mlax_scaffold.cli.settings import import_root
from mlax_scaffold.cli.staging import Stage, staged_package
from mlax_scaffold.cli.workspace import Generation, Workspace
from mlax_scaffold.errors import Diagnostic, Location, SpecError
from mlax_scaffold.model.definition import Definition
from mlax_scaffold.write import Plan

LONGEST = 600.0
"""Seconds that a trial may take: it computes nothing."""

MOST = 20
"""Definitions that are traced: where more change, importing them is enough to wait for."""

# The examples of the reference pages are traced. That one does not fit a layer is no fault of
# the layer: only names that are not there are.
#
# A module that fails, fails all that import it. So where one does, each is imported again in
# packages that import nothing themselves, to find the others that fail.
_TRIAL = """
import importlib, json, os, sys, traceback, types

root, modules, examples, result = json.loads(sys.argv[1])

def failure(what, error):
    frames = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    if isinstance(error, SyntaxError):
        frames.append((error.filename, error.lineno))
    frames = [(f[len(root):], n) for f, n in frames if f and f.startswith(root)]
    return what, f"{type(error).__name__}: {error}", frames

def failures():
    found = []
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:
            found.append(failure(module, error))
    return found

def missing_names():
    import jax

    found = []
    package = sys.modules[modules[0]]
    for code in examples:
        names = {**vars(package), "jax": jax, "jnp": jax.numpy}
        try:
            jax.eval_shape(lambda: exec(code, names))
        except (NameError, ImportError, AttributeError) as error:
            certain = not isinstance(error, AttributeError) or "module '" in str(error)
            found += [failure(None, error)] if certain else []
        except BaseException:
            pass
    return found

found = failures() or missing_names()
if found and found[0][0] is not None:
    package = modules[0]
    [place] = [p for p in sys.path if os.path.isdir(os.path.join(p, *package.split(".")))][:1]
    for name in [m for m in sys.modules if m.partition(".")[0] == package.partition(".")[0]]:
        del sys.modules[name]
    for name in modules:
        folder = os.path.join(place, *name.split("."))
        if os.path.isdir(folder):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [folder]
    found += [f for f in failures() if "(unknown location)" not in f[1]]
with open(result, "w", encoding="utf-8") as file:
    json.dump(found, file)
"""


@dataclass(frozen=True)
class Failure:
    """What a module raised."""

    module: str | None
    """None: it is what it raised when it was traced."""
    error: str
    frames: tuple[tuple[str, int], ...]
    """Files of the package and lines, from the outside."""


def try_out(workspace: Workspace, made: Generation, plan: Plan) -> None:
    """Import the whole package as it would be, where a module of it would change.

    What changes is traced, too, where the page of a definition has an example.

    Raises:
        SpecError: a module does not import, or uses what is not there; the place is the line
            of its spec.
        FindingsError: one that follows from no spec does not, or the process ended early.
    """
    modules = _modules(workspace, made)
    changed = {change.path for change in plan.changes} & set(modules)
    if not changed:
        return
    with (
        progress(f"Importing {plural(len(modules), 'module')}"),
        staged_package(workspace, made) as stage,
    ):
        names, examples = sorted(modules.values()), _examples(workspace, made, changed)
        failures = _run(stage, names, examples)
    if refusal := _refusal(made, failures):
        raise refusal


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


def _examples(
    workspace: Workspace, made: Generation, changed: Collection[str]
) -> list[str]:
    """The examples of what changes, without what they import of the package."""
    from mlax_scaffold.render.docs_example import example

    sources = {output.source for output in made.outputs if output.path in changed}
    found = [d for d in made.library if d.source in sources]
    package = workspace.project.package
    codes = [example(d, made.library, package) for d in found if len(found) <= MOST]
    return [
        code.replace(f"\nfrom {package} import", "\n# from") for code in codes if code
    ]


def _run(stage: Stage, modules: list[str], examples: list[str]) -> list[Failure]:
    result = os.path.join(stage.root, "trial.json")
    given = [stage.root + os.sep, modules, examples, result]
    outcome = stage.run(_TRIAL, given, LONGEST)
    try:
        with open(result, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        raise FindingsError(
            f"{outcome.output.strip()}\n\nImporting what would be generated ended with "
            f"status {outcome.status}. Nothing was changed."
        ) from None
    return [
        Failure(module, error, tuple((path.replace(os.sep, "/"), n) for path, n in at))
        for module, error, at in found
    ]


def _refusal(made: Generation, failures: Iterable[Failure]) -> Exception | None:
    outputs = {output.path: output for output in made.outputs}
    definitions = {definition.source: definition for definition in made.library}
    found: list[Diagnostic] = []
    others: list[str] = []
    for failure in failures:
        own = [
            (path, line, definitions[outputs[path].source])
            for path, line in failure.frames
            if path in outputs and outputs[path].source in definitions
        ]
        if own:
            path, line, definition = own[-1]
            text = outputs[path].text.split("\n")[line - 1].strip()
            found.append(_finding(definition, failure, path, line, text))
        elif failure.module is not None:
            others.append(f"{failure.module} does not import: {failure.error}")
    if found:
        return SpecError(found)
    if others:
        return FindingsError("\n".join(others) + "\nNothing was changed.")
    return None


def _finding(
    definition: Definition, failure: Failure, path: str, line: int, text: str
) -> Diagnostic:
    number, column, shown = spec_line(definition, text)
    summary = failure.error.split("\n")[0]
    done = "traced" if failure.module is None else "imported"
    return Diagnostic(
        Location(definition.source, number, column),
        f"what {definition.name} becomes cannot be {done}: {summary}",
        f"It is line {line} of {path}: `{text}`.",
        shown,
        len(shown) - column + 1,
    )


def spec_line(definition: Definition, generated: str) -> tuple[int, int, str]:
    """The line of a spec that a generated line follows from, its column, and the text.

    It is the one that has most names in common with it, rare ones before frequent ones; the
    definition itself where there is none.
    """
    lines = definition.text.split("\n")
    total = Counter(name for line in lines for name in _names(line))
    wanted = _names(generated)
    scores = [sum(1.0 / total[name] for name in _names(t) & wanted) for t in lines]
    starts = [f"class {definition.name}", f"def {definition.name}"]
    at = next((i for i, t in enumerate(lines) if t.startswith(tuple(starts))), 0)
    # What an import binds is at fault only where the import itself fails.
    imports = generated.startswith(("from ", "import "))
    for i, text in enumerate(lines):
        if text.startswith(("from ", "import ", ")", "#")) != imports:
            scores[i] = 0.0
    if max(scores, default=0.0) > 0.0:
        at = scores.index(max(scores))
    shown = lines[at]
    return at + 1, len(shown) - len(shown.lstrip()) + 1, shown


def _names(line: str) -> set[str]:
    code: Mapping[str, None] = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", line))
    return {name for name in code if not keyword.iskeyword(name) and name != "self"}
