"""A temporary copy of what would be written, and programs that run on it."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mlax_scaffold.model.project import template_root
from mlax_scaffold.project.processes import PACKAGE, Program
from mlax_scaffold.project.proof_program import PROGRAM
from mlax_scaffold.project.settings import import_root
from mlax_scaffold.project.workspace import Generation, Workspace
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.render.scratch import fill, scratch

_ENVIRONMENT = {
    # The machine's accelerator may be in use; nothing here needs it.
    "JAX_PLATFORMS": "cpu",
    "MLAX_SCAFFOLD_PROFILE": "ci",
    "PYTEST_ADDOPTS": "",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONIOENCODING": "utf-8",
}

_STORE = "HYPOTHESIS_STORAGE_DIRECTORY"


@dataclass(frozen=True)
class Outcome:
    """How a program ended, and what it printed."""

    status: int
    output: str

    @property
    def warnings(self) -> list[str]:
        """What tests of the definitions warned of, each once, as they passed."""
        return [*dict.fromkeys("\n".join(m) for m in _WARNED.findall(self.output))]


_WARNED = re.compile(r" SizesAlike: (.+)\n +(Look .+)")
"""Two lines of pytest's summary."""


@dataclass(frozen=True)
class Stage:
    """A temporary copy of a project as it would be."""

    root: str
    paths: tuple[str, ...]
    """The folders to import from."""
    last: tuple[str, ...] = ()
    """Those that come after all others."""
    known: str = ""
    """Where Hypothesis keeps what it knows of modules, if it does: each is read again elsewhere."""

    def run(
        self, program: str, argument: object, longest: float | None = None
    ) -> Outcome:
        """Run a Python program with a value, as JSON, for its argument.

        After `longest` seconds it is ended, with the status of one that was killed.
        """
        last = [*self.last, os.path.dirname(PACKAGE)]
        environment = {**_ENVIRONMENT, "TMPDIR": self.root}
        if os.path.isdir(self.known):
            environment |= {_STORE: os.environ.get(_STORE, self.known)}
        made = Program(program, argument, self.root, self.paths, last, environment)
        output = os.path.join(self.root, "output.txt")
        try:
            status = made.run(output, longest)
        except TimeoutError:
            said = f"It took longer than {longest} seconds."
            return Outcome(-signal.SIGKILL, said)
        with open(output, encoding="utf-8", errors="replace") as file:
            return Outcome(status, file.read().replace(self.root + os.sep, ""))

    def prove(self, modules: Sequence[str], tests: Sequence[str]) -> Outcome:
        """Import modules and run test files; status IMPORT_FAILED or pytest's."""
        options = [
            *("-q", "-x", "--no-header", "--tb=short", "-p", "no:cacheprovider"),
            *("-c", os.path.join(self.root, "pytest.ini"), "--rootdir", self.root),
            *("-p", "mlax_scaffold.pytest_plugin"),
        ]
        run = [*options, *tests] if tests else []
        return self.run(PROGRAM, [[*modules], run, os.path.join(self.root, "copy.txt")])


@contextmanager
def staged(
    workspace: Workspace, made: Generation, added: Iterable[SpecFile] = ()
) -> Iterator[Stage]:
    """Everything generated, and the specs, in a temporary folder of the same layout.

    What stands on the disk as it is generated is linked to, so that its bytecode is found.
    """
    project = workspace.project
    with scratch() as root:
        if workspace.is_library:
            # The specs are part of the generator's package: it has to come along, with the
            # templates, whose runtime specs share.
            specs = os.path.join(root, project.specs)
            package = os.path.dirname(specs)
            os.makedirs(package)
            for name in os.listdir(PACKAGE):
                if name not in ("__pycache__", "specs", "templates"):
                    _link(os.path.join(PACKAGE, name), os.path.join(package, name))
            _link(str(template_root()), os.path.join(package, "templates"))
            first = [os.path.dirname(package)]
        else:
            first = [root]
        fill(root, {f.path: f.text for f in (*workspace.own, *added)})
        standing = made.standing
        _link_all(workspace.root, root, {p for p in standing if p.endswith(".py")})
        others = [o for o in made.outputs if o.path not in standing]
        fill(root, {o.path: o.text for o in others})
        fill(root, {"pytest.ini": "[pytest]\n"})
        fill(root, _parents(workspace))
        package = os.path.join(root, import_root(project))
        paths = os.path.normpath(package), *first
        known = os.path.join(workspace.root, ".hypothesis")
        yield Stage(root, paths, tuple(workspace.plugin_roots), known)


@contextmanager
def staged_package(workspace: Workspace, made: Generation) -> Iterator[Stage]:
    """The package that would be generated, in a temporary folder of the same layout.

    What a person put beside its modules comes along, and the project is there to import from.
    """
    project = workspace.project
    base = f"{project.output}/"
    with scratch() as root:
        texts = {o.path: o.text for o in made.outputs if o.path.startswith(base)}
        _copy_others(workspace, root, {*texts, *workspace.lock.outputs})
        fill(root, {**texts, **_parents(workspace)})
        package = os.path.normpath(import_root(project))
        own = os.path.normpath(os.path.join(workspace.root, package))
        last = (own, workspace.root, *workspace.plugin_roots)
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


def _link_all(start: str, root: str, paths: Iterable[str]) -> None:
    """Link to files, and to the bytecode beside them."""
    folders = set()
    for path in paths:
        folder = os.path.join(root, os.path.dirname(path))
        if folder not in folders:
            folders.add(folder)
            os.makedirs(folder, exist_ok=True)
            compiled = os.path.join(start, os.path.dirname(path), "__pycache__")
            if os.path.isdir(compiled):
                _link(compiled, os.path.join(folder, "__pycache__"))
        _link(os.path.join(start, path), os.path.join(root, path))


def _link(source: str, target: str) -> None:
    """A link, or a copy where there can be none."""
    try:
        os.symlink(source, target)
    except OSError:
        copy = shutil.copytree if os.path.isdir(source) else shutil.copy2
        copy(source, target)
