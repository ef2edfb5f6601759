"""What a generation would change, before anything is changed."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mlax_scaffold.errors import ConflictError
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.write.content import digest
from mlax_scaffold.write.failure import OccupiedError, WriteError
from mlax_scaffold.write.lockfile import LockFile
from mlax_scaffold.write.tree import LOCK_NAME, StrPath, Tree, ancestors, check_path
from mlax_scaffold.write.verdict import FileStatus, Verdict, judge


@dataclass(frozen=True)
class Change:
    """One file's content before and after; None where there is no file.

    `mode` are the permissions to give to a file that does not exist yet; None leaves
    them to the umask. A file that exists keeps its own.
    """

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None


@dataclass(frozen=True)
class Plan:
    """What `commit` would do.

    Attributes:
        changes: the files to be created, updated or deleted, sorted by path.
        lock: the change of the lock file, where before and after may be the same.
        unchanged: generated files that are up to date.
        conflicts: the files that hold somebody's work, which `commit` would overwrite
            or prune; it refuses to without `force`.
        orphans: the files of specs that are gone, which `commit` would delete; it
            refuses to without `prune`, since a spec may be gone by mistake.
        statuses: the verdicts from which the plan follows.
    """

    changes: tuple[Change, ...]
    lock: Change
    unchanged: tuple[str, ...] = ()
    conflicts: tuple[FileStatus, ...] = ()
    orphans: tuple[FileStatus, ...] = ()
    statuses: tuple[FileStatus, ...] = ()

    @property
    def created(self) -> tuple[str, ...]:
        """The files that do not exist yet."""
        return tuple(c.path for c in self.changes if c.before is None)

    @property
    def updated(self) -> tuple[str, ...]:
        """The files that get another content."""
        return tuple(
            c.path for c in self.changes if c.before is not None and c.after is not None
        )

    @property
    def deleted(self) -> tuple[str, ...]:
        """The files that are removed."""
        return tuple(c.path for c in self.changes if c.after is None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done, on the lock file neither."""
        return not self.changes and self.lock.before == self.lock.after

    def check_conflicts(self) -> None:
        """Raises ConflictError, naming every file, if there are conflicts."""
        if self.conflicts:
            raise ConflictError(_conflict_text(self.conflicts))

    def check_orphans(self) -> None:
        """Raises ConflictError, naming every file, if files of specs would be deleted."""
        if self.orphans:
            raise ConflictError(f"{orphan_text(self)}\n{self.orphan_advice}")

    @property
    def orphan_advice(self) -> str:
        """What to do where files of specs are not to be deleted."""
        one = len({status.source for status in self.orphans}) == 1
        return (
            f"Nothing was changed. Bring {'the spec' if one else 'the specs'} back, or let "
            "`mlax-scaffold generate --prune` delete what followed from it."
        )


def make_plan(
    root: StrPath,
    outputs: Iterable[Rendered],
    lock: LockFile,
    spec_hashes: Mapping[str, str],
    fingerprint: str,
    *,
    folders: Collection[str],
    built_in: Collection[str] = (),
    extra_writes: Mapping[str, str] | None = None,
    extra_updates: Mapping[str, str | bytes] | None = None,
    extra_deletes: Iterable[str] = (),
    removed: Collection[str] = (),
) -> Plan:
    """What has to change for the tree to follow from its specs.

    Args:
        root: the project's root.
        outputs: everything that the generator renders now.
        lock: the record of the last generation.
        spec_hashes: the digest of every spec after the commit, by path.
        fingerprint: names the generator and its templates.
        folders: the folders of outputs; nothing else is ever taken for an orphan.
        built_in: the folders of specs that are not the project's own. What follows from
            one that is no longer built on is deleted unasked.
        extra_writes: new files that are not generated, such as a spec. One that exists
            with another content is a conflict.
        extra_updates: files that are not generated and that the command was asked to
            change, whatever they hold now.
        extra_deletes: files that are not generated and that the command was asked to
            delete.
        removed: specs that the command was asked to remove: what follows from them is deleted
            unasked.

    Raises:
        WriteError: two paths collide, or one leads out of the root.
    """
    outputs = list(outputs)
    updates, deletes = dict(extra_updates or {}), list(extra_deletes)
    writes = dict(extra_writes or {})
    _check_paths([o.path for o in outputs], [*writes, *updates])
    statuses = judge(root, outputs, lock, spec_hashes, fingerprint, folders=folders)
    tree = Tree(root)
    wanted = {o.path: o.text for o in outputs}

    changes: dict[str, Change] = {}
    for status in statuses:
        change = _change(tree, status.path, wanted.get(status.path))
        # A registry may be clean with its lines in another order.
        if not _same(change):
            changes[status.path] = change
    conflicts = [status for status in statuses if status.by_hand]
    orphans = [
        status
        for status in statuses
        if status.source_gone
        and status.source not in removed
        and not status.source.startswith(tuple(f"{folder}/" for folder in built_in))
    ]
    for path, text in {**writes, **updates}.items():
        change = _change(tree, path, text)
        if _same(change):
            changes.pop(path, None)
            continue
        changes[path] = change
        if path in writes and change.before is not None:
            detail = "a file with another content exists"
            conflicts.append(FileStatus(path, Verdict.UNTRACKED, "", detail, True))
    for path in deletes:
        change = _change(tree, path, None)
        if change.before is not None:
            changes[path] = change
            # Deleting it was asked for by name.
            conflicts = [c for c in conflicts if c.path != path]
            orphans = [o for o in orphans if o.path != path]

    return Plan(
        changes=tuple(changes[path] for path in sorted(changes)),
        lock=_lock_change(tree, outputs, spec_hashes, fingerprint),
        unchanged=tuple(s.path for s in statuses if s.path not in changes),
        conflicts=tuple(sorted(conflicts, key=lambda status: status.path)),
        orphans=tuple(orphans),
        statuses=tuple(statuses),
    )


def plan_updates(root: StrPath, texts: Mapping[str, str]) -> Plan:
    """What has to change for files to hold these texts; nothing that is generated."""
    _check_paths([], list(texts))
    tree = Tree(root)
    changes = [_change(tree, path, texts[path]) for path in sorted(texts)]
    lock = _change(tree, LOCK_NAME, None)
    return Plan(
        changes=tuple(c for c in changes if not _same(c)),
        lock=Change(LOCK_NAME, lock.before, lock.before),
    )


def diff(plan: Plan, moved: Mapping[str, str] | None = None) -> str:
    """A unified diff of the plan's changes, other than the lock file's.

    Args:
        plan: what would change.
        moved: new paths of files, by their old ones. What is moved is one change.
    """
    found = {change.path: change for change in plan.changes}
    lines: list[str] = []
    for old, new in (moved or {}).items():
        if old in found and new in found:
            lines += _diff_moved(found.pop(old), found.pop(new))
    return "".join((*lines, *(x for c in found.values() for x in _diff_one(c))))


def orphan_text(plan: Plan) -> str:
    """The specs that are gone, the files that followed from each, and what these alone need."""
    lines = []
    for source in sorted({status.source for status in plan.orphans}):
        files = [status.path for status in plan.orphans if status.source == source]
        lines += [f"{source} is gone, and would take along:"]
        lines += [f"  {path}" for path in files]
    others = set(plan.deleted) - {status.path for status in plan.orphans}
    if others:
        count = f"{len(others)} file{'' if len(others) == 1 else 's'}"
        lines += [
            f"With that would go {count} that nothing else needs; "
            "`mlax-scaffold generate --dry-run --prune` lists all."
        ]
    return "\n".join(lines)


def _conflict_text(conflicts: Sequence[FileStatus]) -> str:
    """What `commit` says when it refuses."""
    lines = "".join(f"\n  {status}" for status in conflicts)
    one = len(conflicts) == 1
    return (
        f"{len(conflicts)} file{'' if one else 's'} would be overwritten or deleted, "
        f"though mlax-scaffold did not write {'it' if one else 'them'} as now:{lines}\n"
        "Nothing was changed. Take each edit into the spec that the file follows from, "
        "which `mlax-scaffold absorb NAME` does where it can, or move the file away; "
        "or pass --force to go on, and `mlax-scaffold undo` brings back what was there."
    )


def _change(tree: Tree, path: str, content: str | bytes | None) -> Change:
    try:
        before = tree.read(path)
    except OccupiedError:
        before = None
    if isinstance(content, str):
        content = content.encode()
        # Whoever chose the line ends of a file keeps them.
        if before is not None and before.partition(b"\n")[0].endswith(b"\r"):
            content = content.replace(b"\n", b"\r\n")
    return Change(path, before, content)


def _same(change: Change) -> bool:
    return (
        change.before is not None
        and change.after is not None
        and digest(change.before) == digest(change.after)
    )


def _lock_change(
    tree: Tree,
    outputs: list[Rendered],
    spec_hashes: Mapping[str, str],
    fingerprint: str,
) -> Change:
    after = LockFile.of(outputs, spec_hashes, fingerprint)
    change = _change(tree, LOCK_NAME, after.text())
    return Change(LOCK_NAME, change.before, change.before) if _same(change) else change


def _check_paths(generated: list[str], extra: list[str]) -> None:
    seen: dict[str, str] = {}
    for path in [*generated, *extra]:
        check_path(path)
        if path == LOCK_NAME:
            raise WriteError(f"{LOCK_NAME} is the generator's own record; rename it")
        # Some file systems do not tell upper from lower case.
        if other := seen.get(path.casefold()):
            raise WriteError(
                f"{path} would be written twice"
                if other == path
                else f"{other} and {path} are one file where case does not count; "
                "rename one of the two specs"
            )
        seen[path.casefold()] = path
    for path in seen.values():
        for directory in ancestors(path):
            if directory.casefold() in seen:
                raise WriteError(
                    f"{directory} would be a file, and a directory for {path}; "
                    "rename one of the two specs"
                )


def _diff_one(change: Change) -> Iterable[str]:
    lines = list(
        difflib.unified_diff(
            _lines(change.before),
            _lines(change.after),
            "/dev/null" if change.before is None else f"a/{change.path}",
            "/dev/null" if change.after is None else f"b/{change.path}",
        )
    )
    if not lines:
        # Creating or deleting an empty file changes no line, and is a change.
        what = "new" if change.before is None else "deleted"
        return [f"{what} empty file {change.path}\n"]
    return [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in lines
    ]


def _diff_moved(old: Change, new: Change) -> list[str]:
    """As git shows it: both names, and the lines that differ."""
    names = [f"rename from {old.path}\n", f"rename to {new.path}\n"]
    if old.before == new.after:
        return names
    both = Change(old.path, old.before, new.after)
    _, second, *rest = _diff_one(both)
    return [*names, f"--- a/{old.path}\n", second.replace(old.path, new.path), *rest]


def _lines(data: bytes | None) -> list[str]:
    if not data:
        return []
    *lines, last = data.decode(errors="replace").split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])
