"""The journal of one transaction, and moving the tree to either side of it.

A transaction stages every file it needs under `.mlax-scaffold/staging/`, and then
renames a journal into place. That rename is the commit point: before it the tree is
untouched, after it the tree can always be moved to the new side, or back to the old
one, by renames of staged files alone, which need no space. Moving is idempotent, so
that a process which is killed while it moves is taken over by the next.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from mlax_scaffold.write.failure import OccupiedError, WriteError, explain
from mlax_scaffold.write.tree import Tree, ancestors

JOURNAL = "journal"
STAGING = "staging"
HISTORY = "undo"
RECORD = "record"
POPPED = "popped"
BACKWARD = "backward"
FORWARD = "forward"

# A directory stays where somebody else's file is in it, or where it is in use or
# protected itself; that it is gone already happens when a killed run is completed.
_DIRECTORY_STAYS = (
    *(errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY, errno.EACCES, errno.EPERM),
    *(errno.ENOENT, errno.ENOTDIR),
)


@dataclass(frozen=True)
class Entry:
    """One file: the exact sha256 of both sides, None where there is no file.

    On the new side it is staged as `<index>.new`, on the old side as `<index>.old`.
    """

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Journal:
    """A committed transaction that may not be carried out in full.

    Attributes:
        title: what the transaction is for.
        forward: whether the tree moves to the new side.
        entries: its files.
        created: directories that exist on the new side only, deepest first.
        emptied: directories that the new side leaves without a file, deepest first.
        push: the name of the undo record that it adds, or "".
        pop: the name of the undo record that it uses up, or "".
    """

    title: str
    forward: bool
    entries: tuple[Entry, ...]
    created: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    push: str = ""
    pop: str = ""

    def text(self) -> str:
        """The journal as JSON."""
        return json.dumps(asdict(self))

    def reversed(self) -> Journal:
        """The journal of going back."""
        return replace(self, forward=False)

    @classmethod
    def load(cls, tree: Tree) -> Journal | None:
        """The journal in place, or None. Raises WriteError if it is not a journal."""
        try:
            with open(tree.state(JOURNAL), encoding="utf-8") as file:
                data = json.load(file)
            data["entries"] = tuple(Entry(**entry) for entry in data["entries"])
            return cls(**data)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise WriteError(
                f"the journal of an interrupted run cannot be understood ({error}); "
                "look at the tree with your version control, delete "
                f"{tree.state(JOURNAL)}, and run `mlax-scaffold generate`"
            ) from error


def exact(data: bytes | None) -> str | None:
    """The sha256 of the very bytes, None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def finish(tree: Tree, journal: Journal) -> tuple[str, ...]:
    """Moves the tree to the side that the journal in place names, and clears it.

    If that fails on the way to the new side, the tree is moved back to the old side.

    Returns:
        The files that were left alone because somebody changed them after the commit
        point.

    Raises:
        WriteError: the tree is back on the old side, or it could not be moved at all;
            in that case the journal stays in place for the next run.
    """
    try:
        try:
            return _move(tree, journal)
        except KeyboardInterrupt:
            _move(tree, journal)
            raise
    except (OSError, WriteError) as error:
        if not journal.forward:
            raise _stuck(journal, error) from error
        try:
            os.replace(tree.state(STAGING, BACKWARD), tree.state(JOURNAL))
            _move(tree, journal.reversed())
        except (OSError, WriteError) as second:
            raise _stuck(journal, second) from error
        raise WriteError(
            f"cannot write the files of {journal.title!r}: {_explain(error)}. "
            "Nothing was changed."
        ) from error


def clear_staging(tree: Tree) -> None:
    """Removes what a transaction staged."""
    staging = tree.state(STAGING)
    with suppress(FileNotFoundError):
        for name in os.listdir(staging):
            os.unlink(os.path.join(staging, name))
        os.rmdir(staging)


def sync_directory(place: str) -> None:
    """Makes the renames in a directory durable, where the system knows how to."""
    if os.name == "nt":
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def _move(tree: Tree, journal: Journal) -> tuple[str, ...]:
    sync_directory(tree.state())
    # Removing comes before creating, so that a file can become a directory.
    kept = _remove(tree, journal)
    kept += _place(tree, journal)
    _sync_parents(tree, journal)
    _settle_history(tree, journal)
    with suppress(FileNotFoundError):
        os.unlink(tree.state(JOURNAL))
    sync_directory(tree.state())
    with suppress(OSError):
        clear_staging(tree)
    return tuple(kept)


def _sides(journal: Journal, entry: Entry) -> tuple[str | None, str | None]:
    """What an entry's content is to move from and to."""
    old, new = entry.before, entry.after
    return (old, new) if journal.forward else (new, old)


def _remove(tree: Tree, journal: Journal) -> list[str]:
    kept = []
    for entry in journal.entries:
        origin, goal = _sides(journal, entry)
        if goal is not None:
            continue
        actual = _actual(tree, entry.path)
        if actual not in (None, origin):
            kept.append(entry.path)
            continue
        place = tree.locate(entry.path)
        if actual is not None:
            os.unlink(place)
        # Also where a killed run removed the file, and nothing else.
        _remove_bytecode(place)
    for directory in journal.emptied if journal.forward else journal.created:
        try:
            os.rmdir(tree.locate(directory))
        except OSError as error:
            if error.errno not in _DIRECTORY_STAYS:
                raise
    return kept


def _place(tree: Tree, journal: Journal) -> list[str]:
    kept = []
    suffix = "new" if journal.forward else "old"
    for index, entry in enumerate(journal.entries):
        origin, goal = _sides(journal, entry)
        if goal is None:
            continue
        actual = _actual(tree, entry.path)
        if actual == goal:
            continue
        if actual not in (None, origin):
            kept.append(entry.path)
            continue
        place = tree.locate(entry.path)
        staged = tree.state(STAGING, f"{index}.{suffix}")
        if actual is None:
            os.makedirs(os.path.dirname(place), exist_ok=True)
        os.replace(staged, place)
    return kept


def _actual(tree: Tree, path: str) -> str | None:
    try:
        return exact(tree.read_raw(path))
    except OccupiedError:
        return "a directory"


def _sync_parents(tree: Tree, journal: Journal) -> None:
    touched = [entry.path for entry in journal.entries]
    touched += [*journal.created, *journal.emptied]
    directories = {os.path.dirname(tree.locate(path)) for path in touched}
    for directory in sorted(directories):
        if os.path.isdir(directory):
            sync_directory(directory)


def _settle_history(tree: Tree, journal: Journal) -> None:
    if not journal.push and not journal.pop:
        return
    os.makedirs(tree.state(HISTORY), exist_ok=True)
    # A step whose file is not where it starts from was done before a kill.
    if journal.pop:
        popped, used = tree.state(HISTORY, journal.pop), tree.state(STAGING, POPPED)
        with suppress(FileNotFoundError):
            if journal.forward:
                os.replace(popped, used)
            else:
                os.replace(used, popped)
    if journal.push:
        record, pushed = tree.state(STAGING, RECORD), tree.state(HISTORY, journal.push)
        with suppress(FileNotFoundError):
            if journal.forward:
                os.replace(record, pushed)
            else:
                os.unlink(pushed)
    sync_directory(tree.state(HISTORY))


def _remove_bytecode(place: str) -> None:
    """Removes what Python compiled from a module that is gone.

    It would keep the directory of a pruned package alive, and with it the import.
    """
    directory, name = os.path.split(place)
    stem, extension = os.path.splitext(name)
    cache = os.path.join(directory, "__pycache__")
    if extension != ".py":
        return
    with suppress(OSError):
        for compiled in os.listdir(cache):
            if compiled.startswith(f"{stem}.") and compiled.endswith(".pyc"):
                os.unlink(os.path.join(cache, compiled))
        os.rmdir(cache)


def _explain(error: OSError | WriteError) -> str:
    return explain(error) if isinstance(error, OSError) else str(error)


def _stuck(journal: Journal, error: OSError | WriteError) -> WriteError:
    side = "carried out" if journal.forward else "taken back"
    return WriteError(
        f"{journal.title!r} is {side} only in part: {_explain(error)}. Nothing is "
        "lost: once that is mended, the next run of mlax-scaffold completes it."
    )


def pruned_directories(deleted: list[str], written: list[str]) -> tuple[str, ...]:
    """The directories above deleted files that no written file needs, deepest first."""
    needed = {directory for path in written for directory in ancestors(path)}
    candidates = {directory for path in deleted for directory in ancestors(path)}
    return tuple(sorted(candidates - needed, key=lambda d: (-d.count("/"), d)))
