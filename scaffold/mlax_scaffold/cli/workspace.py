"""A project on disk: its specs, what they render to, and how the files stand to that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mlax_scaffold.cli.console import progress
from mlax_scaffold.cli.settings import find_project
from mlax_scaffold.errors import UsageError
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.spec.check_library import read_library
from mlax_scaffold.spec.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.spec.reader import module_name
from mlax_scaffold.write import (
    FileStatus,
    LockFile,
    Plan,
    digest,
    generator_fingerprint,
    judge,
    make_plan,
    quick_check,
)

BUILT_IN = "mlax_scaffold/specs"
"""What the specs that come with the generator are called in other projects."""

_DEFINED = (
    r"^class +(\w+) *\( *(?:Layer|Block|Optimizer|Schedule)\b|^@function\s+def +(\w+)",
    r"^(?:class|def) +(\w+)",
)


@dataclass(frozen=True)
class Generation:
    """What a project's specs say, and what follows from it."""

    library: Library
    hashes: dict[str, str]
    """The digest of every spec that takes part, by its path."""
    outputs: tuple[Rendered, ...]

    def of(self, source: str) -> tuple[Rendered, ...]:
        """The files that follow from one spec."""
        return tuple(o for o in self.outputs if o.source == source)


@dataclass(frozen=True)
class Workspace:
    """A project on disk."""

    root: str
    project: Project

    @classmethod
    def find(cls, directory: str | None = None) -> Workspace:
        """The project that a folder belongs to; default: the current folder."""
        return cls(*find_project(directory))

    @cached_property
    def is_library(self) -> bool:
        """Whether the project's specs are those that come with the generator."""
        return Path(self.root, self.project.specs).resolve() == LIBRARY_SPECS

    @cached_property
    def own(self) -> tuple[SpecFile, ...]:
        """The project's specs."""
        return find_specs(Path(self.root, self.project.specs), self.project.specs)

    @cached_property
    def built_in(self) -> tuple[SpecFile, ...]:
        """The specs that come with the generator, less those the project has itself."""
        if self.is_library:
            return ()
        own = {place(file) for file in self.own}
        found = find_specs(LIBRARY_SPECS, BUILT_IN)
        return tuple(file for file in found if place(file) not in own)

    @cached_property
    def lock(self) -> LockFile:
        """The record of the last generation."""
        return LockFile.read(self.root)

    @cached_property
    def fingerprint(self) -> str:
        """Names the generator, and what the project asks of its specs."""
        generator = generator_fingerprint()
        return f"{generator}+fields" if self.project.document_fields else generator

    def read(self, *added: SpecFile) -> Library:
        """The project's definitions, those of `added` specs too.

        Raises:
            SpecError: with every error of every spec.
        """
        files = sorted((*self.own, *added), key=lambda file: file.path)
        return read_library(
            tuple(files),
            self.built_in,
            document_fields=self.project.document_fields,
        )

    def generate(self, *added: SpecFile) -> Generation:
        """Render everything, in memory.

        Raises:
            SpecError: with every error of every spec.
            UsageError: the folder of the specs is gone.
        """
        self._check_specs()
        library = self.read(*added)
        texts = {f.path: f.text for f in (*self.own, *added, *self.built_in)}
        hashes = {d.source: digest(texts[d.source]) for d in library}
        if not hashes:
            return Generation(library, {}, ())
        from mlax_scaffold.render import render

        with progress(f"Generating from {len(hashes)} specs"):
            return Generation(library, hashes, render(library, self.project))

    def plan(
        self, made: Generation, *, extra_writes: Mapping[str, str] | None = None
    ) -> Plan:
        """What has to change for the tree to be as generated."""
        return make_plan(
            self.root,
            made.outputs,
            self.lock,
            made.hashes,
            self.fingerprint,
            folders=self.project.folders,
            built_in="" if self.project.specs == BUILT_IN else BUILT_IN,
            extra_writes=extra_writes,
        )

    def examine(self, *, always_render: bool = False) -> list[FileStatus]:
        """The verdict on every file; renders only where the record does not settle it."""
        if not always_render:
            found = quick_check(
                self.root, self.lock, self._recorded_hashes(), self.fingerprint
            )
            if found is not None:
                return found
        made = self.generate()
        return judge(
            self.root,
            made.outputs,
            self.lock,
            made.hashes,
            self.fingerprint,
            folders=self.project.folders,
        )

    def record_problem(self) -> str:
        """What is wrong with the lock file itself, or ""."""
        if self.lock.damaged:
            return "it holds merge conflicts, or is no record of mlax-scaffold"
        if not self.lock.fingerprint and self.own:
            return "it is missing"
        if dict(self.lock.specs) != self._recorded_hashes():
            return "it does not record the specs as they are"
        return ""

    def _recorded_hashes(self) -> dict[str, str]:
        """The digests of the own specs and of those built-in ones that are recorded.

        Where the own specs are as recorded, they are built on the same built-in ones.
        """
        hashes = {file.path: digest(file.text) for file in self.own}
        for file in self.built_in:
            if file.path in self.lock.specs:
                hashes[file.path] = digest(file.text)
        return hashes

    def _check_specs(self) -> None:
        folder = os.path.join(self.root, self.project.specs)
        if self.lock.outputs and not os.path.isdir(folder):
            raise UsageError(
                f"the folder of the specs, {folder}, does not exist, though files were "
                "generated from what it held; bring it back, or correct "
                '"specs" in pyproject.toml'
            )


def place(file: SpecFile) -> tuple[str, str]:
    """The section and the module of what a spec defines: there is one definition in each."""
    return file.section, module_name(name_in(file))


def name_in(file: SpecFile) -> str:
    """The name that a spec defines, as far as can be told without reading it."""
    for pattern in _DEFINED:
        found = re.search(pattern, file.text, re.MULTILINE)
        if found:
            return found.group(found.lastindex or 0)
    return file.path.rsplit("/", 1)[-1].removesuffix(".py")


def names_in(files: Iterable[SpecFile]) -> list[str]:
    """The names that specs define, sorted."""
    return sorted({name_in(file) for file in files})
