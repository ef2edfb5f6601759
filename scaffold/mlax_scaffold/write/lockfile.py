"""The record of the last generation: what was read, and what was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from mlax_scaffold.model.project import Rendered
from mlax_scaffold.write.content import digest
from mlax_scaffold.write.tree import LOCK_NAME, StrPath, Tree, path_fault

_HEADER = (
    "# What `mlax-scaffold generate` last read and wrote. Not to be edited: after a "
    "merge conflict, run it again.\n"
)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


@dataclass(frozen=True)
class Recorded:
    """What is recorded of a generated file: its digest, the spec it follows from."""

    sha256: str
    source: str


@dataclass(frozen=True)
class LockFile:
    """The content of `mlax-scaffold.lock`.

    One line per entry, sorted, so that merges seldom conflict. A lock that holds merge
    conflicts keeps the entries of every side in `outputs` and `others`, so that a file
    which either side generated is still known as generated, and forgets what was read,
    so that everything is rendered anew. A lock that cannot be understood is empty. Both
    are `damaged`; generating heals them.
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
        recorded = {o.path: Recorded(digest(o.text), o.source) for o in outputs}
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
                    case _:
                        raise ValueError(f"not an entry: {line}")
        if not fingerprints:
            raise ValueError("the record names no generator")
        # Merging by union leaves no markers, but lines that contradict each other.
        conflict |= len(fingerprints) > 1
        conflict |= any(len(found) > 1 for found in specs.values())
        conflict |= any(len(set(found)) > 1 for found in outputs.values())
        return cls(
            fingerprint="" if conflict else fingerprints.pop(),
            specs={} if conflict else {p: found.pop() for p, found in specs.items()},
            outputs={path: found[0] for path, found in outputs.items()},
            others={
                path: frozenset(r.sha256 for r in found)
                for path, found in outputs.items()
                if len(found) > 1
            },
            damaged=conflict,
        )

    def text(self) -> str:
        """The file's text: the same for the same record."""
        lines: list[list[str]] = [["generator", self.fingerprint]]
        lines += [["spec", path, sha] for path, sha in sorted(self.specs.items())]
        lines += [
            ["file", path, recorded.source, recorded.sha256]
            for path, recorded in sorted(self.outputs.items())
        ]
        body = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        return _HEADER + body

    def wrote(self, path: str, sha256: str) -> bool:
        """Whether a content with this digest is what was generated at `path`."""
        recorded = self.outputs.get(path)
        if recorded is None:
            return False
        return sha256 == recorded.sha256 or sha256 in self.others.get(path, ())


def _valid(path: str, sha256: str) -> bool:
    # A path from a lock may be pruned, so one that leads elsewhere must not be
    # believed.
    return path_fault(path) is None and _SHA256.match(sha256) is not None
