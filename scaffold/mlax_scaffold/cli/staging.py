"""A temporary copy of what would be written, and programs that run on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mlax_scaffold.cli.settings import import_root
from mlax_scaffold.cli.workspace import Generation, Workspace
from mlax_scaffold.spec.files import SpecFile

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMPORT_FAILED = 70

# A program's folders go before all others; the generator itself goes last, where it is
# found only if it is not installed.
_BOOT = "import json, sys; first, last = json.loads(sys.argv.pop(1)); "
_BOOT += "sys.path[:0] = first; sys.path += last; "

_PROVE = f"""
import importlib, json, sys, traceback

modules, tests = json.loads(sys.argv[1])
try:
    for module in modules:
        importlib.import_module(module)
except Exception:
    traceback.print_exc(file=sys.stdout)
    sys.exit({IMPORT_FAILED})
if tests:
    import pytest

    sys.exit(pytest.main(tests))
"""


@dataclass(frozen=True)
class Outcome:
    """How a program ended, and what it printed."""

    status: int
    output: str


@dataclass(frozen=True)
class Stage:
    """A temporary copy of a project as it would be."""

    root: str
    paths: tuple[str, ...]
    """The folders to import from."""
    last: tuple[str, ...] = ()
    """Those that come after all others."""

    def run(
        self, program: str, argument: object, longest: float | None = None
    ) -> Outcome:
        """Run a Python program with a value, as JSON, for its argument.

        After `longest` seconds it is ended, with the status of one that was killed.
        """
        boot = json.dumps([self.paths, [*self.last, os.path.dirname(PACKAGE)]])
        try:
            done = subprocess.run(
                [
                    *(sys.executable, "-c", _BOOT + "\n" + program),
                    *(boot, json.dumps(argument)),
                ],
                cwd=self.root,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=longest,
            )
        except subprocess.TimeoutExpired:
            return Outcome(-signal.SIGKILL, f"It took longer than {longest} seconds.")
        return Outcome(done.returncode, done.stdout.replace(self.root + os.sep, ""))

    def prove(self, modules: Sequence[str], tests: Sequence[str]) -> Outcome:
        """Import modules and run test files; status IMPORT_FAILED or pytest's."""
        options = [
            *("-q", "-x", "--no-header", "--tb=short", "-p", "no:cacheprovider"),
            *("-c", os.path.join(self.root, "pytest.ini"), "--rootdir", self.root),
            *("-p", "mlax_scaffold.pytest_plugin"),
        ]
        return self.run(_PROVE, [[*modules], [*options, *tests] if tests else []])


@contextmanager
def staged(
    workspace: Workspace, made: Generation, added: Iterable[SpecFile] = ()
) -> Iterator[Stage]:
    """Everything generated, and the specs, in a temporary folder of the same layout."""
    project = workspace.project
    with tempfile.TemporaryDirectory(prefix="mlax-scaffold-") as folder:
        root = os.path.realpath(folder)
        if workspace.is_library:
            # The specs are part of the generator's package: it has to come along.
            specs = os.path.join(root, project.specs)
            copy = os.path.dirname(specs)
            skip = shutil.ignore_patterns("__pycache__", "specs")
            shutil.copytree(PACKAGE, copy, ignore=skip)
            first = [os.path.dirname(copy)]
        else:
            first = [root]
        _write(root, {f.path: f.text for f in (*workspace.own, *added)})
        _write(root, {o.path: o.text for o in made.outputs})
        _write(root, {"pytest.ini": "[pytest]\n"})
        _write(root, _parents(workspace))
        package = os.path.join(root, import_root(project))
        yield Stage(root, (os.path.normpath(package), *first))


@contextmanager
def staged_package(workspace: Workspace, made: Generation) -> Iterator[Stage]:
    """The package that would be generated, in a temporary folder of the same layout.

    What a person put beside its modules comes along, and the project is there to import from.
    """
    project = workspace.project
    base = f"{project.output}/"
    with tempfile.TemporaryDirectory(prefix="mlax-scaffold-") as folder:
        root = os.path.realpath(folder)
        texts = {o.path: o.text for o in made.outputs if o.path.startswith(base)}
        _copy_others(workspace, root, {*texts, *workspace.lock.outputs})
        _write(root, {**texts, **_parents(workspace)})
        package = os.path.normpath(import_root(project))
        last = (os.path.normpath(os.path.join(workspace.root, package)), workspace.root)
        yield Stage(root, (os.path.normpath(os.path.join(root, package)),), last)


def _copy_others(workspace: Workspace, root: str, generated: Collection[str]) -> None:
    """Copy the Python files of the package that are not generated."""
    start = os.path.join(workspace.root, workspace.project.output)
    for folder, _, names in os.walk(start):
        for name in names:
            place = os.path.join(folder, name)
            path = os.path.relpath(place, workspace.root).replace(os.sep, "/")
            if name.endswith(".py") and path not in generated:
                target = os.path.join(root, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(place, target)


def _parents(workspace: Workspace) -> dict[str, str]:
    """Empty files for the regular packages around the package.

    Without them an installed one of the same name would be imported in their place.
    """
    found = {}
    folder = os.path.dirname(workspace.project.output)
    while folder:
        name = f"{folder}/__init__.py"
        if os.path.exists(os.path.join(workspace.root, name)):
            found[name] = ""
        folder = os.path.dirname(folder)
    return found


def _write(root: str, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        place = os.path.join(root, *path.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        # The machine's accelerator may be in use; nothing here needs it.
        "JAX_PLATFORMS": "cpu",
        "MLAX_SCAFFOLD_PROFILE": "ci",
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONSAFEPATH": "1",
    }
