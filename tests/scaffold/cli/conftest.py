"""Small projects on disk."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_projects import PYPROJECT, SCALE, TWICE, ProjectFolder

from mlax_scaffold.project.processes import warm


@pytest.fixture(autouse=True, scope="session")
def _warm() -> Iterator[None]:
    """What commands try in this process needs no start of jax; those of other processes start it."""
    with warm():
        yield


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A project without specs, in which commands are run."""
    folder = ProjectFolder(tmp_path / "project")
    folder.write("pyproject.toml", PYPROJECT)
    monkeypatch.chdir(folder.root)
    return folder


@pytest.fixture
def project(empty: ProjectFolder) -> ProjectFolder:
    """A project with two specs, of which nothing is generated."""
    empty.write("specs/nn/scale.py", SCALE)
    empty.write("specs/nn/twice.py", TWICE)
    return empty


@pytest.fixture(scope="session")
def _once_generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `generated` is a copy of."""
    folder = ProjectFolder(tmp_path_factory.mktemp("generated") / "project")
    folder.write("pyproject.toml", PYPROJECT)
    folder.write("specs/nn/scale.py", SCALE)
    folder.write("specs/nn/twice.py", TWICE)
    folder.ok("generate", "--project", str(folder.root))
    return folder.root


@pytest.fixture
def generated(project: ProjectFolder, _once_generated: Path) -> ProjectFolder:
    """A project that is up to date."""
    shutil.copytree(_once_generated, project.root, symlinks=True, dirs_exist_ok=True)
    return project
