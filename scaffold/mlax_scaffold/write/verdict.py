"""How a generated file stands to its spec, the generator, and a person's hand."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from mlax_scaffold.model.project import Rendered
from mlax_scaffold.write.content import has_conflict_markers, is_generated
from mlax_scaffold.write.failure import OccupiedError
from mlax_scaffold.write.fingerprint import changed_plugin
from mlax_scaffold.write.lockfile import LockFile, Recorded
from mlax_scaffold.write.tree import StrPath, Tree


class Verdict(enum.Enum):
    """How one file stands."""

    CLEAN = "clean"
    STALE_SPEC = "stale spec"
    STALE_GENERATOR = "stale generator"
    EDITED = "edited by hand"
    MISSING = "missing"
    ORPHAN = "orphan"
    UNTRACKED = "not generated"
    UNREAD = "not read"


@dataclass(frozen=True)
class FileStatus:
    """The verdict on one file, which is a generated one, or for UNREAD a spec.

    `by_hand` is true where the file holds something the generator did not write, so
    that overwriting or pruning it would lose somebody's work: always for EDITED and
    UNTRACKED, and for an ORPHAN that was edited. `source_gone` is true for an ORPHAN
    whose spec is not there.
    """

    path: str
    verdict: Verdict
    source: str = ""
    detail: str = ""
    by_hand: bool = False
    source_gone: bool = False

    def __str__(self) -> str:
        detail = f" ({self.detail})" if self.detail else ""
        return f"{self.path}: {self.verdict.value}{detail}"


@dataclass(frozen=True)
class _Inputs:
    """What is read now, against what the lock says was read."""

    lock: LockFile
    same_generator: bool
    changed: frozenset[str]
    fingerprint: str

    @classmethod
    def compare(
        cls, lock: LockFile, spec_hashes: Mapping[str, str], fingerprint: str
    ) -> _Inputs:
        paths = spec_hashes.keys() | lock.specs.keys()
        changed = {p for p in paths if spec_hashes.get(p) != lock.specs.get(p)}
        same = fingerprint == lock.fingerprint
        return cls(lock, same, frozenset(changed), fingerprint)

    @property
    def same(self) -> bool:
        return self.same_generator and not self.changed and not self.lock.damaged

    def stale(self, source: str) -> tuple[Verdict, str]:
        """Which stale verdict a file of this source gets, and why."""
        if source in self.changed:
            return Verdict.STALE_SPEC, f"{source} has changed"
        if not source and self.changed:
            names = ", ".join(sorted(self.changed)[:3])
            more = ", …" if len(self.changed) > 3 else ""
            return Verdict.STALE_SPEC, f"changed, new or removed: {names}{more}"
        if self.same_generator and self.changed:
            return Verdict.STALE_SPEC, "a spec that it builds on has changed"
        if self.same_generator:
            return Verdict.STALE_GENERATOR, "the generator is not deterministic"
        plugin = changed_plugin(self.lock.fingerprint, self.fingerprint)
        why = plugin or "the generator or a template has changed"
        return Verdict.STALE_GENERATOR, why


def judge(
    root: StrPath,
    outputs: Iterable[Rendered],
    lock: LockFile,
    spec_hashes: Mapping[str, str],
    fingerprint: str,
    *,
    folders: Collection[str],
) -> list[FileStatus]:
    """The verdict on every file that is or was generated, sorted by path.

    Files that are neither recorded nor in `outputs` are not ours and do not appear.
    Line endings do not count (see `digest`).

    Args:
        root: the project's root.
        outputs: everything that the generator renders now.
        lock: the record of the last generation.
        spec_hashes: the digest of every spec, by path.
        fingerprint: names the generator and its templates.
        folders: the folders of outputs. What is recorded elsewhere, or does not begin
            as a generated file, is somebody's, whatever the record says: it is no
            orphan.

    Raises:
        WriteError: a path leads out of the root, or a file cannot be read.
    """
    expected = {o.path: Recorded.of(o) for o in outputs}
    inputs = _Inputs.compare(lock, spec_hashes, fingerprint)
    tree = Tree(root)
    statuses = [_status(tree, path, want, inputs) for path, want in expected.items()]
    for path, recorded in lock.outputs.items():
        if path in expected or not _is_below(path, folders):
            continue
        if orphan := _orphan(tree, path, recorded, lock, spec_hashes):
            statuses.append(orphan)
    return sorted(statuses, key=lambda status: status.path)


def quick_check(
    root: StrPath,
    lock: LockFile,
    spec_hashes: Mapping[str, str],
    fingerprint: str,
) -> list[FileStatus] | None:
    """The verdicts without rendering, where the lock alone settles them; else None.

    If the generator and all specs are those recorded, then what would be rendered is
    what was recorded, and every file is CLEAN, EDITED or MISSING. Otherwise, and where a
    registry is not as recorded, the caller has to render and call `judge`.
    """
    inputs = _Inputs.compare(lock, spec_hashes, fingerprint)
    if not inputs.same:
        return None
    tree = Tree(root)
    found = [
        _status(tree, path, recorded, inputs)
        for path, recorded in sorted(lock.outputs.items())
    ]
    # Git may have merged the record to lines that are none of its registry.
    registries = {path for path, recorded in lock.outputs.items() if recorded.lines}
    edited = {f.path for f in found if f.verdict is Verdict.EDITED}
    return None if edited & registries else found


def _status(tree: Tree, path: str, want: Recorded, inputs: _Inputs) -> FileStatus:
    lock, source = inputs.lock, want.source
    recorded = path in lock.outputs
    by_hand = Verdict.EDITED if recorded else Verdict.UNTRACKED
    try:
        data = tree.read(path)
    except OccupiedError:
        return FileStatus(path, by_hand, source, "a directory is in its place", True)
    if data is None:
        return FileStatus(path, Verdict.MISSING, source)
    if want.matches(data):
        return FileStatus(path, Verdict.CLEAN, source)
    if lock.wrote(path, data):
        return FileStatus(path, *_staleness(inputs, source))
    # What a merge made of two generated texts is nobody's work.
    merged = recorded and (lock.merged(path) or has_conflict_markers(data))
    details = ["it holds what a merge made of two versions"] if merged else []
    if not recorded:
        details.append("a file that mlax-scaffold did not write is in its place")
    elif not merged and lock.outputs[path] != want:
        details.append(f"also stale: {inputs.stale(source)[1]}")
    return FileStatus(path, by_hand, source, "; ".join(details), not merged)


def _staleness(inputs: _Inputs, source: str) -> tuple[Verdict, str, str]:
    verdict, why = inputs.stale(source)
    return verdict, source, why


def _orphan(
    tree: Tree,
    path: str,
    recorded: Recorded,
    lock: LockFile,
    spec_hashes: Mapping[str, str],
) -> FileStatus | None:
    try:
        data = tree.read(path)
    except OccupiedError:
        return None
    if data is None or not is_generated(data):
        return None
    edited = not lock.wrote(path, data)
    gone = bool(recorded.source) and recorded.source not in spec_hashes
    details = [f"{recorded.source} is gone" if gone else "it is no longer generated"]
    if edited:
        details.append("edited by hand since it was generated")
    detail = "; ".join(details)
    return FileStatus(path, Verdict.ORPHAN, recorded.source, detail, edited, gone)


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)
