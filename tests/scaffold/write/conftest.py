"""A small project for the writer: text in memory, as the renderer hands it over."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mlax_scaffold.model.project import GENERATED, Rendered
from mlax_scaffold.write import (
    STATE_DIR,
    CommitReport,
    LockFile,
    Plan,
    commit,
    digest,
    make_plan,
)

Snapshot = Mapping[str, bytes | None]
FOLDERS = ("gen", "tests", "docs/ref", "old", "new", "out")


@dataclass
class Project:
    """A root, the specs that it has, and the fingerprint of its generator.

    Each spec `s` gives `gen/<s>.py`, `tests/test_<s>.py` and `docs/ref/<s>.md`; all
    specs together give `gen/__init__.py`.
    """

    root: Path
    specs: dict[str, str] = field(default_factory=lambda: {"a": "1", "b": "1"})
    fingerprint: str = "generator-1"

    def outputs(self) -> list[Rendered]:
        """Everything that is rendered from the specs as they are."""
        names = f"# {GENERATED}.\nNAMES = {sorted(self.specs)}\n"
        found = [Rendered("gen/__init__.py", names, "")]
        for name, text in self.specs.items():
            body = f"{GENERATED}: {name} {text} {self.fingerprint}\n"
            found += [
                Rendered(f"gen/{name}.py", f"# {body}", f"specs/{name}.py"),
                Rendered(f"tests/test_{name}.py", f"# test {body}", f"specs/{name}.py"),
                Rendered(f"docs/ref/{name}.md", f"# {body}", f"specs/{name}.py"),
            ]
        return found

    def hashes(self) -> dict[str, str]:
        """The digest of each spec."""
        return {f"specs/{name}.py": digest(text) for name, text in self.specs.items()}

    def lock(self) -> LockFile:
        """The lock on disk."""
        return LockFile.read(self.root)

    def plan(self, outputs: Iterable[Rendered] | None = None, **extra: object) -> Plan:
        """The plan of generating."""
        return make_plan(
            self.root,
            self.outputs() if outputs is None else outputs,
            self.lock(),
            self.hashes(),
            self.fingerprint,
            folders=FOLDERS,
            **extra,  # pyright: ignore[reportArgumentType]
        )

    def generate(
        self, title: str = "generate", *, force: bool = False, prune: bool = True
    ) -> CommitReport:
        """Plans and commits."""
        return commit(self.root, self.plan(), title=title, force=force, prune=prune)

    def path(self, path: str) -> Path:
        """A place in the project."""
        return self.root / path

    def text(self, path: str) -> str:
        """The content of a file of the project."""
        return self.path(path).read_text()

    def edit(self, path: str, text: str) -> None:
        """What a person does."""
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text)

    def snapshot(self) -> Snapshot:
        """Every directory (as None) and file below the root, but the writer's own."""
        return snapshot(self.root)

    def staged(self) -> bool:
        """Whether something of an unfinished transaction lies around."""
        state = self.path(STATE_DIR)
        return (state / "staging").exists() or (state / "journal").exists()


def snapshot(root: Path) -> Snapshot:
    """Every directory (as None) and file below a root, but the writer's own."""
    found: dict[str, bytes | None] = {}
    for place, directories, files in os.walk(root):
        if STATE_DIR in directories:
            directories.remove(STATE_DIR)
        below = Path(place).relative_to(root)
        found |= {str(below / name): None for name in directories}
        found |= {str(below / n): (Path(place) / n).read_bytes() for n in files}
    return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project in which nothing was generated yet."""
    return Project(tmp_path)


@pytest.fixture
def generated(project: Project) -> Project:
    """A project that is up to date."""
    project.generate("first")
    return project


@pytest.fixture
def new_project(tmp_path: Path) -> Callable[[], Project]:
    """Makes projects, for tests that need many."""
    count = iter(range(10**6))

    def make() -> Project:
        root = tmp_path / f"project{next(count)}"
        root.mkdir()
        return Project(root)

    return make
