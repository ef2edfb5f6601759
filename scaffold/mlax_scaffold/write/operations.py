"""Committing a plan, undoing the last commit, recovering from a kill."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlax_scaffold.errors import ConflictError
from mlax_scaffold.write.content import digest
from mlax_scaffold.write.failure import explained
from mlax_scaffold.write.history import History, Past, Record
from mlax_scaffold.write.journal import (
    JOURNAL,
    STAGING,
    Journal,
    clear_staging,
    finish,
    pruned_directories,
)
from mlax_scaffold.write.mutex import mutex
from mlax_scaffold.write.plan import Change, Plan
from mlax_scaffold.write.transaction import check_unchanged, execute, read_for
from mlax_scaffold.write.tree import LOCK_NAME, StrPath, Tree
from mlax_scaffold.write.verdict import FileStatus, Verdict

# Moving the tree takes milliseconds; a reader that meets it waits that long.
_MOVE_SECONDS = 5.0


@dataclass(frozen=True)
class CommitReport:
    """What a commit did.

    Attributes:
        created: files that were created.
        updated: files that got another content.
        deleted: files that were removed.
        overwritten: those of them that held somebody's work, which `undo` brings back.
        kept: files that were left alone because somebody changed them within the moment
            of writing; `check` shows them as edited.
    """

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True)
class UndoReport:
    """What an undo did: the title of what was undone, the files, and what is left.

    `remaining` are the titles that can still be undone, the next one first.
    """

    title: str
    created: tuple[str, ...]
    updated: tuple[str, ...]
    deleted: tuple[str, ...]
    overwritten: tuple[str, ...]
    kept: tuple[str, ...]
    remaining: tuple[str, ...]


@dataclass(frozen=True)
class Recovery:
    """What `recover` completed: its title, and the files left alone as edited."""

    title: str
    kept: tuple[str, ...]


def commit(
    root: StrPath,
    plan: Plan,
    *,
    title: str,
    force: bool = False,
    prune: bool = False,
    wait_seconds: float = 0.0,
) -> CommitReport:
    """Carries out a plan in one transaction, together with the lock file.

    Only what changes is written. Directories are created as needed, and those that
    pruning empties are removed. An empty plan does nothing.

    Args:
        root: the project's root.
        plan: what `make_plan` returned.
        title: names the commit for `undo`, such as "new-layer Attention".
        force: overwrite and prune also what holds somebody's work, recorded for `undo`.
        prune: delete also the files of specs that are gone.
        wait_seconds: how long to wait for another run to end.

    Raises:
        ConflictError: the plan has conflicts or orphans, a file was changed since it was made, or
            another run is at work. Nothing was changed.
        WriteError: the file system refuses. Nothing was changed, unless the text
            says so.
    """
    if not prune:
        plan.check_orphans()
    if not force:
        plan.check_conflicts()
    with mutex(root, wait_seconds=wait_seconds):
        recover(root)
        tree = Tree(root)
        # A different lock means that another run wrote what this plan does not know.
        check_unchanged(tree, [plan.lock], ())
        if plan.is_empty:
            return CommitReport()
        deleted = list(plan.deleted)
        written = [*plan.created, *plan.updated, LOCK_NAME]
        emptied = pruned_directories(deleted, written)
        changes = list(plan.changes)
        overwritten = {status.path for status in plan.conflicts}
        if force:
            changes, since = _as_on_disk(tree, changes, emptied)
            overwritten |= since
        else:
            check_unchanged(tree, changes, emptied)
        all_changes = changes
        if plan.lock.before != plan.lock.after:
            all_changes = [*changes, plan.lock]
        kept = execute(tree, all_changes, title=title, emptied=emptied)
        return CommitReport(
            *_by_kind(changes, kept),
            overwritten=tuple(sorted(overwritten - set(kept))),
            kept=kept,
        )


def plan_undo(root: StrPath) -> tuple[str, Plan]:
    """The title of what `undo` would undo, and the changes that it would make.

    Raises:
        UsageError: there is nothing to undo.
    """
    tree = Tree(root)
    _, record = History(tree).last()
    changes, conflicts = _inverse(tree, record)
    files = tuple(c for c in changes if c.path != LOCK_NAME)
    lock = next(
        (c for c in changes if c.path == LOCK_NAME), Change(LOCK_NAME, None, None)
    )
    return record.title, Plan(files, lock, conflicts=tuple(conflicts))


def undo(
    root: StrPath, *, force: bool = False, wait_seconds: float = 0.0
) -> UndoReport:
    """Brings back what the last commit replaced, in one transaction.

    With `force`, files that were changed since are overwritten; the undo is then
    recorded itself, so that undoing once more brings them back.

    Raises:
        UsageError: there is nothing to undo.
        ConflictError: files were changed since the commit, or another run is at work.
        WriteError: the file system refuses. Nothing was changed, unless the text
            says so.
    """
    with mutex(root, wait_seconds=wait_seconds):
        recover(root)
        tree = Tree(root)
        history = History(tree)
        name, record = history.last()
        changes, conflicts = _inverse(tree, record)
        if conflicts and not force:
            raise ConflictError(_undo_conflict_text(record.title, conflicts))
        remaining = history.titles()[1:]
        title = f"undo {record.title}"
        kept = execute(
            tree,
            changes,
            title=title,
            emptied=record.created,
            undoable=bool(conflicts),
            pop=name,
        )
        files = [c for c in changes if c.path != LOCK_NAME]
        created, updated, deleted = _by_kind(files, kept)
        return UndoReport(
            title=record.title,
            created=created,
            updated=updated,
            deleted=deleted,
            overwritten=tuple(c.path for c in conflicts if c.path not in kept),
            kept=kept,
            remaining=(*([title] if conflicts else ()), *remaining),
        )


def history(root: StrPath) -> list[Past]:
    """The commits that can be undone, the newest first.

    Raises:
        WriteError: a record cannot be read.
    """
    return History(Tree(root)).past()


def recover(root: StrPath) -> Recovery | None:
    """Completes what a run that was killed had committed, and clears what it left.

    Every command calls this first, also one that only reads. It is cheap, and touches
    nothing, where nothing is left over. Files that somebody changed since the kill are
    left alone.

    Returns:
        What was completed, or None if there was nothing.

    Raises:
        ConflictError: another run is moving the tree, and does not come to an end.
        WriteError: the file system refuses; the text says how the tree is.
    """
    tree = Tree(root)
    if not os.path.exists(tree.state(STAGING)) and not _in_progress(tree):
        return None
    deadline = time.monotonic() + _MOVE_SECONDS
    while True:
        try:
            with mutex(root), explained("recover from an interrupted run"):
                journal = Journal.load(tree)
                if journal is None:
                    clear_staging(tree)
                    return None
                return Recovery(journal.title, finish(tree, journal))
        except ConflictError:
            # What another run is staging is not left over. Once it moves the tree,
            # nobody else should read it.
            if not _in_progress(tree):
                return None
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def interrupted(root: StrPath, *, wait_seconds: float = 0.0) -> str | None:
    """The title of a transaction that is committed but not carried out, or None.

    For a command that must not write: `recover` would complete it. A run that is at
    work needs milliseconds for that, for which one may wait.
    """
    tree = Tree(root)
    deadline = time.monotonic() + wait_seconds
    while _in_progress(tree):
        if time.monotonic() >= deadline:
            journal = Journal.load(tree)
            return journal.title if journal else None
        time.sleep(0.01)
    return None


def _in_progress(tree: Tree) -> bool:
    return os.path.exists(tree.state(JOURNAL))


def _as_on_disk(
    tree: Tree, changes: Sequence[Change], emptied: Sequence[str]
) -> tuple[list[Change], set[str]]:
    """The changes from what is on disk now, and the paths changed since the plan."""
    current, since = [], set()
    for change in changes:
        actual = read_for(tree, change.path, emptied)
        if actual != change.before and actual is not None:
            since.add(change.path)
        if actual != change.after:
            current.append(replace(change, before=actual))
    return current, since


def _inverse(tree: Tree, record: Record) -> tuple[list[Change], list[FileStatus]]:
    changes, conflicts = [], []
    for file in record.files:
        actual = read_for(tree, file.path, record.created)
        if actual == file.before:
            continue
        now = None if actual is None else digest(actual)
        if now != file.after:
            gone = now is None
            verdict = Verdict.MISSING if gone else Verdict.EDITED
            detail = "deleted since" if gone else "changed since"
            conflicts.append(FileStatus(file.path, verdict, "", detail, not gone))
        changes.append(Change(file.path, actual, file.before, file.mode))
    return changes, conflicts


def _undo_conflict_text(title: str, conflicts: Sequence[FileStatus]) -> str:
    lines = "".join(f"\n  {status.path}: {status.detail}" for status in conflicts)
    return (
        f"cannot undo {title!r}: these files are not as it left them:{lines}\n"
        "Nothing was changed. Pass --force to go on; a second `mlax-scaffold undo` "
        "then brings back what is there now."
    )


def _by_kind(
    changes: Sequence[Change], kept: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    done = [c for c in changes if c.path not in kept]
    return (
        tuple(c.path for c in done if c.before is None),
        tuple(c.path for c in done if c.before is not None and c.after is not None),
        tuple(c.path for c in done if c.after is None),
    )
