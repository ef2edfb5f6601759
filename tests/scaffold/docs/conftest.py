"""The library, with the pages that are checked in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from tests.library import PROJECT, checked_in, library

from mlax_scaffold.model.library import Library


@dataclass(frozen=True)
class Site:
    """The library, and the text of its generated files by path."""

    library: Library
    files: Mapping[str, str]

    @property
    def pages(self) -> dict[str, str]:
        """The reference pages by path."""
        return {
            path: text
            for path, text in self.files.items()
            if path.startswith(f"{PROJECT.docs}/")
        }


@pytest.fixture(scope="session")
def site() -> Site:
    """The library, and what stands in the repository of it."""
    return Site(library(), checked_in())
