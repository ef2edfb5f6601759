"""What many tests look at: the library's specs, read once, and what follows from them, rendered once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

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


@cache
def checked_in() -> Mapping[str, str]:
    """The text of each generated file that is checked in, by path.

    That it is what is rendered, which takes a while, `tests/scaffold/test_architecture.py` tells.
    """
    root = Path(__file__).parent.parent
    folders = (PROJECT.output, PROJECT.tests, PROJECT.docs)
    places = (place for folder in folders for place in (root / folder).rglob("*"))
    return {
        place.relative_to(root).as_posix(): place.read_text(encoding="utf-8")
        for place in places
        if place.suffix in (".py", ".md")
    }
