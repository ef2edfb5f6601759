"""What many tests look at: the library's specs, read once, and what follows from them, rendered once."""

from __future__ import annotations

from functools import cache

from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.reader.files import LIBRARY_SPECS, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import render

SPECS = "scaffold/mlax_scaffold/specs"
PROJECT = Project(
    "mlax",
    SPECS,
    "generated_layers/mlax",
    "tests/generated",
    "docs/reference",
    document_fields=True,
    state_requirements=True,
)


@cache
def library() -> Library:
    """The specs of the library."""
    return read_library(find_specs(LIBRARY_SPECS, SPECS))


@cache
def rendered() -> tuple[Rendered, ...]:
    """All files that follow from them."""
    return render(library(), PROJECT)
