"""What a project is to the generator: names and places, and the files it produces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Project:
    """The settings of `[tool.mlax-scaffold]`. Paths are posix, relative to the project's root."""

    package: str
    """Import name of the generated package."""
    specs: str
    """Folder of the specs."""
    output: str
    """Folder of the generated package."""
    tests: str
    """Folder of the generated tests."""
    docs: str
    """Folder of the generated reference pages."""


@dataclass(frozen=True)
class Rendered:
    """A generated file, in memory."""

    path: str
    text: str
    source: str
    """Path of the spec that it follows from; empty for what follows from all of them, or from none."""
