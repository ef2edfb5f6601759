"""Small projects on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_projects import PYPROJECT, SCALE, TWICE, ProjectFolder


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


@pytest.fixture
def generated(project: ProjectFolder) -> ProjectFolder:
    """A project that is up to date."""
    project.ok("generate")
    return project
