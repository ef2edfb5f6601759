"""One run at a time on one project."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mlax_scaffold.errors import ConflictError
from mlax_scaffold.write.failure import explained
from mlax_scaffold.write.tree import StrPath, Tree

if sys.platform == "win32":
    import msvcrt

    # Locks are mandatory there: one far behind the content leaves the pid readable.
    _OFFSET = 1 << 30

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    _BUSY = PermissionError
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    _BUSY = BlockingIOError

_POLL_SECONDS = 0.02

# The threads of this process that hold a mutex: place → (process, thread).
_holders: dict[str, tuple[int, int]] = {}


@contextmanager
def mutex(root: StrPath, *, wait_seconds: float = 0.0) -> Iterator[None]:
    """Holds the project exclusively; within one thread it may be nested.

    The lock belongs to the open file, so it ends with the process however that ends,
    and nothing stale remains.

    Raises:
        ConflictError: another run holds it, and still does after `wait_seconds`.
        WriteError: the state directory cannot be created.
    """
    tree = Tree(root)
    place = tree.state("mutex")
    me = (os.getpid(), threading.get_ident())
    if _holders.get(place) == me:
        yield
        return
    tree.make_state()
    with explained("open the mutex of the project"):
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with explained("lock the project"):
            _acquire(descriptor, tree.root, wait_seconds)
        # Who holds it is only for the message: a full disk must not stop a run here.
        _write_holder(descriptor)
        _holders[place] = me
        try:
            yield
        finally:
            del _holders[place]
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, root: str, wait_seconds: float) -> None:
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return _lock(descriptor)
        except _BUSY:
            if time.monotonic() >= deadline:
                raise ConflictError(
                    f"another mlax-scaffold is at work on {root}"
                    f"{_read_holder(descriptor)}; wait until it has ended and run again"
                ) from None
            time.sleep(_POLL_SECONDS)


def _write_holder(descriptor: int) -> None:
    with suppress(OSError):
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())


def _read_holder(descriptor: int) -> str:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        pid = os.read(descriptor, 32).decode()
    except (OSError, UnicodeDecodeError):
        return ""
    return f" (process {pid})" if pid.isdecimal() else ""
