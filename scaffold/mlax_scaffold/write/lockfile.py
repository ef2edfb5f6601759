"""The record of the last generation: what was read, and what was written."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.model.project import Rendered
from mlax_scaffold.write.content import digest, lines_of
from mlax_scaffold.write.tree import LOCK_NAME, StrPath, Tree, path_fault

_HEADER = (
    "# What `mlax-scaffold generate` last read and wrote, a line for each thing, so that "
    "it merges by itself.\n"
)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


@dataclass(frozen=True)
class Recorded:
    """What is recorded of a generated file.

    Attributes:
        sha256: its digest; "" for a registry.
        source: the spec it follows from.
        lines: of a registry the lines, in any order: two branches that each add one
            merge to a file and to a record that have both.
    """

    sha256: str
    source: str
    lines: frozenset[str] = frozenset()

    @classmethod
    def of(cls, output: Rendered) -> Recorded:
        """What to record of a rendered file."""
        if output.registry:
            return cls("", output.source, lines_of(output.text))
        return cls(digest(output.text), output.source)

    def matches(self, data: bytes) -> bool:
        """Whether a content is what is recorded."""
        if self.lines:
            return lines_of(data) == self.lines
        return digest(data) == self.sha256


@dataclass(frozen=True)
class LockFile:
    """The content of `mlax-scaffold.lock`.

    One line per entry, sorted, so that the union of two sides' lines is the record of
    their merge. Between folders stand lines that no side changes: what is taken away at the
    end of one does not touch what is added at the begin of the next. Where lines contradict
    each other, as after edits of one spec on both sides, or hold conflict markers, the record
    keeps the entries of every side in
    `outputs` and `others`, so that a file which either side generated is still known as
    generated, and forgets what was read, so that everything is rendered anew. A record
    that cannot be understood is empty. Both are `damaged`; generating heals them.
    """

    fingerprint: str = ""
    specs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, Recorded] = field(default_factory=dict)
    others: Mapping[str, frozenset[str]] = field(default_factory=dict)
    damaged: bool = False

    @classmethod
    def of(
        cls,
        outputs: Iterable[Rendered],
        spec_hashes: Mapping[str, str],
        fingerprint: str,
    ) -> LockFile:
        """The record of a generation that wrote `outputs`."""
        recorded = {o.path: Recorded.of(o) for o in outputs}
        return cls(fingerprint, dict(spec_hashes), recorded)

    @classmethod
    def read(cls, root: StrPath) -> LockFile:
        """The record below `root`; empty if there is none."""
        data = Tree(root).read(LOCK_NAME)
        if data is None:
            return cls()
        try:
            return cls.parse(data.decode())
        except ValueError:
            return cls(damaged=True)

    @classmethod
    def parse(cls, text: str) -> LockFile:
        """The record that a text holds. Raises ValueError for what is not a record."""
        fingerprints: set[str] = set()
        specs: dict[str, set[str]] = {}
        outputs: dict[str, list[Recorded]] = {}
        registries: dict[str, set[str]] = {}
        conflict = False
        for line in text.replace("\r\n", "\n").split("\n"):
            if line.startswith(_MARKERS):
                conflict = True
            elif line and not line.startswith("#"):
                match json.loads(line):
                    case ["generator", str(fingerprint)]:
                        fingerprints.add(fingerprint)
                    case ["spec", str(path), str(sha)] if _valid(path, sha):
                        specs.setdefault(path, set()).add(sha)
                    case ["file", str(path), str(source), str(sha)] if _valid(
                        path, sha
                    ):
                        outputs.setdefault(path, []).append(Recorded(sha, source))
                    case ["line", str(path), str(entry)] if path_fault(path) is None:
                        registries.setdefault(path, set()).add(entry)
                    case _:
                        raise ValueError(f"not an entry: {line}")
        if not fingerprints:
            raise ValueError("the record names no generator")
        # Merging by union leaves no markers, but lines that contradict each other.
        conflict |= len(fingerprints) > 1
        conflict |= any(len(found) > 1 for found in specs.values())
        conflict |= any(len(set(found)) > 1 for found in outputs.values())
        for path, entries in registries.items():
            outputs.setdefault(path, []).append(Recorded("", "", frozenset(entries)))
        return cls(
            fingerprint="" if conflict else fingerprints.pop(),
            specs={} if conflict else {p: found.pop() for p, found in specs.items()},
            outputs={path: found[0] for path, found in outputs.items()},
            others={
                path: frozenset(r.sha256 for r in found)
                for path, found in outputs.items()
                if len(set(found)) > 1
            },
            damaged=conflict,
        )

    def text(self) -> str:
        """The file's text: the same for the same record."""
        groups: dict[str, list[list[str]]] = {"": [["generator", self.fingerprint]]}
        for path, sha in sorted(self.specs.items()):
            entry = ["spec", path, sha]
            groups.setdefault(os.path.dirname(path), []).append(entry)
        for path, recorded in sorted(self.outputs.items()):
            if recorded.lines:
                lines = [["line", path, entry] for entry in sorted(recorded.lines)]
                groups.setdefault(path, []).extend(lines)
            else:
                entry = ["file", path, recorded.source, recorded.sha256]
                groups.setdefault(os.path.dirname(path), []).append(entry)
        return _HEADER + "".join(
            f"# {json.dumps(name)}\n" * bool(name)
            + "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in group)
            for name, group in sorted(groups.items())
        )

    def wrote(self, path: str, data: bytes) -> bool:
        """Whether a content is what was generated at `path`."""
        recorded = self.outputs.get(path)
        if recorded is None:
            return False
        return recorded.matches(data) or digest(data) in self.others.get(path, ())

    def merged(self, path: str) -> bool:
        """Whether two sides generated different contents for `path`."""
        return path in self.others


def _valid(path: str, sha256: str) -> bool:
    # A path from a lock may be pruned, so one that leads elsewhere must not be
    # believed.
    return path_fault(path) is None and _SHA256.match(sha256) is not None
