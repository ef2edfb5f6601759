"""A project on disk: its specs, what they render to, and how the files stand to that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mlax_scaffold.errors import SpecError, UsageError
from mlax_scaffold.model.library import Library
from mlax_scaffold.model.project import Project, Rendered
from mlax_scaffold.model.word import Word
from mlax_scaffold.model.words import vocabulary
from mlax_scaffold.project.plugins import Plugin, find_plugins
from mlax_scaffold.project.progress import plural, progress
from mlax_scaffold.project.readings import Readings
from mlax_scaffold.project.settings import FLAGS, find_project
from mlax_scaffold.project.strays import strays
from mlax_scaffold.reader.files import (
    LIBRARY_SPECS,
    SpecFile,
    find_specs,
    library_specs,
)
from mlax_scaffold.reader.homes import module_name
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.reader.remedies.mending import mend
from mlax_scaffold.write import (
    FileStatus,
    LockFile,
    Plan,
    Verdict,
    digest,
    fingerprint_of,
    generator_fingerprint,
    judge,
    make_plan,
    quick_check,
)

if TYPE_CHECKING:
    from mlax_scaffold.render.output import Output

BUILT_IN = "mlax_scaffold/specs"
"""What the specs that come with the generator are called in other projects."""

_DEFINED = (
    r"^(?:class +(?=\w+ *\( *(?:Layer|Block|Optimizer|Schedule)\b)|@function\s+def +)(\w+)",
    r"^(?:class|def) +(\w+)",
)


@dataclass(frozen=True)
class Generation:
    """What a project's specs say, and what follows from it."""

    library: Library
    hashes: dict[str, str]
    """The digest of every spec that takes part, by its path."""
    outputs: tuple[Rendered, ...]
    standing: frozenset[str] = frozenset()
    """The paths of those that were not rendered: they stand on the disk."""

    def of(self, source: str) -> tuple[Rendered, ...]:
        """The files that follow from one spec."""
        return tuple(o for o in self.outputs if o.source == source)


@dataclass(frozen=True)
class Workspace:
    """A project on disk."""

    root: str
    project: Project
    edited: Mapping[str, str | None] = field(default_factory=dict)
    """Texts of specs that are to be written, by path, in the place of those on disk; None: removed."""

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
        specs = find_specs(Path(self.root, self.project.specs), self.project.specs)
        if not self.edited:
            return specs
        found = {file.path: file for file in specs if file.path not in self.edited}
        for path, text in self.written.items():
            found[path] = SpecFile(path, path.split("/")[-2], text)
        return tuple(found[path] for path in sorted(found))

    @property
    def written(self) -> dict[str, str]:
        """The texts of the specs that are to be written."""
        return {path: text for path, text in self.edited.items() if text is not None}

    @cached_property
    def built_in(self) -> tuple[SpecFile, ...]:
        """The specs that come with the generator and with plugins, less those the project has itself."""
        if self.is_library:
            return ()
        own = {place(file) for file in self.own}
        found = library_specs(BUILT_IN, "mlax-scaffold")
        added = (spec for plugin in self.plugins for spec in plugin.specs)
        return tuple(file for file in (*found, *added) if place(file) not in own)

    @cached_property
    def plugins(self) -> tuple[Plugin, ...]:
        """The plugins that the settings name. Nothing of theirs is imported.

        Raises:
            PluginError: one is missing, or two conflict.
        """
        return find_plugins(self.project.plugins)

    @cached_property
    def words(self) -> tuple[Word, ...]:
        """The words that plugins add. Imports their modules."""
        if not self.plugins:
            return ()
        from mlax_scaffold.project.plugin_code import words_of

        return words_of(self.plugins)

    @property
    def plugin_roots(self) -> list[str]:
        """The folders that plugins are imported from."""
        return sorted({plugin.root for plugin in self.plugins})

    @cached_property
    def strays(self) -> list[FileStatus]:
        """The files that define something where no spec is read."""
        known = names_in((*self.own, *self.built_in))
        return strays(self.root, self.project.specs, self.own, known)

    @cached_property
    def lock(self) -> LockFile:
        """The record of the last generation."""
        return LockFile.read(self.root)

    @cached_property
    def fingerprint(self) -> str:
        """Names the generator, and what the project asks of its specs."""
        plugins = {plugin.name: plugin.digest for plugin in self.plugins}
        asked = [flag for flag in FLAGS if getattr(self.project, flag)]
        return fingerprint_of(self._generator, asked, plugins)

    @cached_property
    def _generator(self) -> str:
        return generator_fingerprint()

    @cached_property
    def _readings(self) -> Readings:
        return Readings(self._generator)

    def read(self, *added: SpecFile) -> Library:
        """The project's definitions, those of `added` specs too.

        Raises:
            SpecError: with every error of every spec.
        """
        return self._read(added) if added else self._library

    @cached_property
    def _library(self) -> Library:
        return self._read(())

    def _read(self, added: Iterable[SpecFile]) -> Library:
        files = sorted((*self.own, *added), key=lambda file: file.path)
        try:
            return self.read_files(files)
        except SpecError as error:
            mended = mend(files, error, self.read_files)
            raise SpecError(error.diagnostics, mended.texts, left=mended.left) from None

    def read_files(self, files: Iterable[SpecFile]) -> Library:
        """The definitions of these specs, as the project's."""
        try:
            with vocabulary(self.words):
                return read_library(
                    tuple(files),
                    self.built_in,
                    document_fields=self.project.document_fields,
                    foreign=not self.is_library,
                    shelf=self._readings,
                )
        finally:
            self._readings.save()

    def generate(self, *added: SpecFile) -> Generation:
        """Render everything, in memory.

        What does not change because of `added` specs is read, where the record says that it is
        as it was generated.

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

        with progress(f"Generating from {plural(len(hashes), 'spec')}"):
            others = self._other_outputs()
            # What plugins make may follow from all specs.
            kept = self._kept(hashes) if added and not others else {}
            new = {path for path in hashes if path not in self.lock.specs}
            made = render(library, self.project, others, new=new if kept else None)
            rendered = {output.path for output in made}
            standing = {p: o for p, o in kept.items() if p not in rendered}
            outputs = sorted((*made, *standing.values()), key=lambda o: o.path)
            return Generation(library, hashes, tuple(outputs), frozenset(standing))

    def _kept(self, hashes: Mapping[str, str]) -> dict[str, Rendered]:
        """The files of the recorded specs, where these are still read and all is as recorded."""
        if set(self.lock.specs) - set(hashes):
            return {}
        known = {path: hashes[path] for path in self.lock.specs}
        found = quick_check(self.root, self.lock, known, self.fingerprint)
        if not found or any(status.verdict is not Verdict.CLEAN for status in found):
            return {}
        kept = {}
        for path, recorded in self.lock.outputs.items():
            if recorded.source:
                text = Path(self.root, path).read_bytes().decode().replace("\r\n", "\n")
                kept[path] = Rendered(path, text, recorded.source)
        return kept

    def _other_outputs(self) -> tuple[Output, ...]:
        """The kinds of output that plugins add. Imports their modules."""
        if not self.plugins:
            return ()
        from mlax_scaffold.project.plugin_code import outputs_of

        return outputs_of(self.plugins)

    def plan(
        self,
        made: Generation,
        *,
        extra_writes: Mapping[str, str] | None = None,
        extra_updates: Mapping[str, str | bytes] | None = None,
        extra_deletes: Iterable[str] = (),
    ) -> Plan:
        """What has to change for the tree to be as generated, and the specs as edited.

        `extra_updates` are the bytes of other files, or those of specs where they are known.
        """
        known = dict(extra_updates or {})
        texts = {p: text for p, text in self.written.items() if p not in known}
        updates = {**as_on_disk(self.root, texts), **known}
        removed = [path for path, text in self.edited.items() if text is None]
        return make_plan(
            self.root,
            made.outputs,
            self.lock,
            made.hashes,
            self.fingerprint,
            folders=self.project.folders,
            built_in=self._built_in_folders(),
            extra_writes=extra_writes,
            extra_updates=updates,
            extra_deletes=[*removed, *extra_deletes],
            removed=removed,
        )

    def _built_in_folders(self) -> list[str]:
        """The folders of specs that are not the project's own."""
        folders = [BUILT_IN, *(plugin.specs_path for plugin in self.plugins)]
        return [folder for folder in folders if folder != self.project.specs]

    def examine(self, *, always_render: bool = False) -> list[FileStatus]:
        """The verdict on every file; renders only where the record does not settle it.

        Specs that are not read come last.
        """
        if not always_render:
            found = quick_check(
                self.root, self.lock, self._recorded_hashes(), self.fingerprint
            )
            if found is not None:
                return found + self.strays
        made = self.generate()
        found = judge(
            self.root,
            made.outputs,
            self.lock,
            made.hashes,
            self.fingerprint,
            folders=self.project.folders,
        )
        return found + self.strays

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


def as_on_disk(root: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Texts with the byte order mark of the files that they replace."""
    found = {}
    for path, text in texts.items():
        before = Path(root, path).read_bytes()
        mark = "\ufeff" if before.startswith(b"\xef\xbb\xbf") else ""
        found[path] = mark + text
    return found


def place(file: SpecFile) -> tuple[str, str]:
    """The section and the module of what a spec defines: there is one definition in each."""
    return file.section, module_name(name_in(file))


def names_of(file: SpecFile) -> list[str]:
    """The names that a spec defines, as far as can be told without reading it: at least one."""
    defined, other = (re.findall(p, file.text, re.MULTILINE) for p in _DEFINED)
    return defined or other[:1] or [file.path.rsplit("/", 1)[-1].removesuffix(".py")]


def name_in(file: SpecFile) -> str:
    """The first name that a spec defines, which its file is called after."""
    return names_of(file)[0]


def names_in(files: Iterable[SpecFile]) -> list[str]:
    """The names that specs define, sorted."""
    return sorted({name for file in files for name in names_of(file)})
