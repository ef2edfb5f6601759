"""The library, rendered under another name than the checked-in one, and importable."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.reader.files import LIBRARY_SPECS, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render

SPECS = "scaffold/mlax_scaffold/specs"


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
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The library as `documented`, in a folder that is on the import path."""
    folder: Path = tmp_path_factory.mktemp("documented")
    project = Project(
        "documented",
        SPECS,
        "generated_layers/documented",
        "tests/generated",
        "docs/reference",
    )
    library = read_library(find_specs(LIBRARY_SPECS, SPECS))
    files = render(library, project)
    for file in files:
        if file.path.startswith(project.output):
            place = folder / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(file.text, encoding="utf-8")
    sys.path.insert(0, str(folder / "generated_layers"))
    yield Site(library, project, files)
    sys.path.remove(str(folder / "generated_layers"))
    for name in [n for n in sys.modules if n.partition(".")[0] == "documented"]:
        del sys.modules[name]
