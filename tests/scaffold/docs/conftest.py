"""The library, as it is rendered: what is checked in, which pages import, is the same."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.library import PROJECT, library, rendered

from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered


@dataclass(frozen=True)
class Site:
    """The rendered library."""

    library: Library
    project: Project
    files: tuple[Rendered, ...]

    @property
    def pages(self) -> dict[str, str]:
        """The reference pages by path."""
        docs = self.project.docs
        return {f.path: f.text for f in self.files if f.path.startswith(f"{docs}/")}


@pytest.fixture(scope="session")
def site() -> Site:
    """The library, rendered."""
    return Site(library(), PROJECT, rendered())
