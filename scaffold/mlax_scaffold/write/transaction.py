"""Carrying out changes all together or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from mlax_scaffold.errors import ConflictError
from mlax_scaffold.write.failure import OccupiedError, WriteError, explained
from mlax_scaffold.write.history import History, Record
from mlax_scaffold.write.journal import (
    BACKWARD,
    FORWARD,
    JOURNAL,
    RECORD,
    STAGING,
    Entry,
    Journal,
    clear_staging,
    exact,
    finish,
    sync_directory,
)
from mlax_scaffold.write.plan import Change
from mlax_scaffold.write.tree import Tree, ancestors


def execute(
    tree: Tree,
    changes: Sequence[Change],
    *,
    title: str,
    emptied: Sequence[str],
    undoable: bool = True,
    pop: str = "",
) -> tuple[str, ...]:
    """Moves every file from `before` to `after` in one transaction.

    The caller holds the mutex and has finished what an earlier run left.

    Args:
        tree: the project's tree.
        changes: what to change; each `before` is what is on disk.
        title: what the transaction is for, in the words of `undo`.
        emptied: the directories to remove if they are empty then, deepest first.
        undoable: whether to record it for `undo`.
        pop: the name of an undo record that the transaction uses up.

    Returns:
        The files that were left alone, because they were changed within the moment
        between the commit point and their turn.

    Raises:
        ConflictError: a file is no longer as in `before`.
        WriteError: the file system refuses; the tree is as it was.
    """
    places = _check_places(tree, changes, emptied)
    try:
        with explained(f"prepare {title!r}"):
            journal = _stage(tree, changes, places, title, emptied, undoable, pop)
            check_unchanged(tree, changes, emptied)
            # The commit point.
            os.replace(tree.state(STAGING, FORWARD), tree.state(JOURNAL))
    except BaseException:
        # An interrupt may arrive right after the commit point.
        if not os.path.exists(tree.state(JOURNAL)):
            with suppress(OSError):
                clear_staging(tree)
        raise
    kept = finish(tree, journal)
    History(tree).trim()
    return kept


def read_for(tree: Tree, path: str, emptied: Sequence[str]) -> bytes | None:
    """The content of a file, where a directory that is to be removed counts as none."""
    try:
        return tree.read(path)
    except OccupiedError:
        if path in emptied:
            return None
        raise


def check_unchanged(
    tree: Tree, changes: Sequence[Change], emptied: Sequence[str]
) -> None:
    """Raises ConflictError if a file is no longer as in `before`."""
    changed = [c.path for c in changes if read_for(tree, c.path, emptied) != c.before]
    if changed:
        raise ConflictError(
            "changed by somebody else while mlax-scaffold was at work:"
            + "".join(f"\n  {path}" for path in changed)
            + "\nNothing was changed. Run again."
        )


def _check_places(
    tree: Tree, changes: Sequence[Change], emptied: Sequence[str]
) -> dict[str, str]:
    """Finds what would fail later, so that it fails before anything is staged."""
    places: dict[str, str] = {}
    removed = {change.path for change in changes if change.after is None}
    with explained("look at the tree"):
        device = os.stat(tree.state()).st_dev
        for change in changes:
            path = change.path
            place = tree.locate(path)
            other = places.setdefault(place, path)
            if other != path:
                raise WriteError(
                    f"{other} and {path} are the same file {place} through a symbolic "
                    "link; replace the link with a directory"
                )
            if os.path.islink(place):
                raise WriteError(
                    f"refusing to touch {path}: it is a symbolic link to "
                    f"{os.path.realpath(place)}; replace it with the file itself"
                )
            if os.path.isdir(place) and path not in emptied:
                raise WriteError(
                    f"{path} is a directory, but a file belongs there; move it away"
                )
            _check_directory(tree, path, removed, device)
    return {path: place for place, path in places.items()}


def _check_directory(tree: Tree, path: str, removed: set[str], device: int) -> None:
    place = tree.root
    for directory in ancestors(path):
        above = os.path.dirname(tree.locate(f"{directory}/_"))
        if os.path.isdir(above):
            place = above
            break
        if os.path.lexists(above) and directory not in removed:
            raise WriteError(
                f"cannot write {path}: {directory} is a file, but a directory is "
                "needed there; move it away"
            )
    if not os.access(place, os.W_OK | os.X_OK):
        raise WriteError(
            f"cannot write {path}: the directory {place} is not writable; "
            "make it writable and run again"
        )
    if os.stat(place).st_dev != device:
        raise WriteError(
            f"cannot write {path}: {place} lies on another file system than the root, "
            "so it cannot be replaced atomically; keep the project on one file system"
        )


def _stage(
    tree: Tree,
    changes: Sequence[Change],
    places: dict[str, str],
    title: str,
    emptied: Sequence[str],
    undoable: bool,
    pop: str,
) -> Journal:
    clear_staging(tree)
    os.mkdir(tree.state(STAGING))
    staged: list[str] = []
    complete = []
    for index, change in enumerate(changes):
        place, mode = places[change.path], change.mode
        if change.before is not None:
            mode = stat.S_IMODE(os.stat(place).st_mode)
            old = tree.state(STAGING, f"{index}.old")
            if not _link(place, old):
                _write(old, change.before, mode)
                staged.append(old)
        if change.after is not None:
            new = tree.state(STAGING, f"{index}.new")
            _write(new, change.after, mode)
            staged.append(new)
        complete.append(Change(change.path, change.before, change.after, mode))

    created = _missing_directories(tree, complete)
    history = History(tree)
    journal = Journal(
        title=title,
        forward=True,
        entries=tuple(Entry(c.path, exact(c.before), exact(c.after)) for c in complete),
        created=created,
        emptied=tuple(emptied),
        push=history.next_name() if undoable else "",
        pop=pop,
    )
    files = {
        FORWARD: journal.text().encode(),
        BACKWARD: journal.reversed().text().encode(),
    }
    if undoable:
        files[RECORD] = Record.of(title, complete, created).data()
    for name, data in files.items():
        place = tree.state(STAGING, name)
        _write(place, data, None)
        staged.append(place)
    # Writing all before syncing any lets the file system do it in few steps.
    for place in staged:
        _sync(place)
    sync_directory(tree.state(STAGING))
    sync_directory(tree.state())
    return journal


def _link(place: str, other: str) -> bool:
    """Gives a file a second name, which costs no space; not every file system can."""
    with suppress(OSError):
        os.link(place, other)
        return True
    return False


def _write(place: str, data: bytes, mode: int | None) -> None:
    with open(place, "xb") as file:
        file.write(data)
    if mode is not None:
        os.chmod(place, mode)


def _sync(place: str) -> None:
    # Windows syncs only what is open for writing, and a mode may forbid that elsewhere.
    descriptor = os.open(place, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _missing_directories(tree: Tree, changes: Sequence[Change]) -> tuple[str, ...]:
    directories = {d for c in changes if c.after is not None for d in ancestors(c.path)}
    missing = [d for d in directories if not os.path.isdir(tree.locate(d))]
    return tuple(sorted(missing, key=lambda d: (-d.count("/"), d)))
