"""One run at a time on one project."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

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


Waiting = Callable[[str], AbstractContextManager[object]]
"""What to do while another run is waited for, which is named, such as "process 42"."""


@contextmanager
def mutex(
    root: StrPath,
    *,
    wait_seconds: float = 0.0,
    waiting: Waiting = lambda _: nullcontext(),
) -> Iterator[None]:
    """Holds the project exclusively; within one thread it may be nested.

    The lock belongs to the open file, so it ends with the process however that ends,
    and nothing stale remains.

    Args:
        root: the project's root.
        wait_seconds: how long to wait for another run to end.
        waiting: is entered while it is waited for.

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
    with explained("lock the project"):
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with explained("lock the project"):
            _acquire(descriptor, tree.root, wait_seconds, waiting)
        # Who holds it is only for the message: a full disk must not stop a run here.
        _write_holder(descriptor)
        _holders[place] = me
        try:
            yield
        finally:
            del _holders[place]
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, root: str, wait_seconds: float, waiting: Waiting) -> None:
    deadline = time.monotonic() + wait_seconds
    if _locked(descriptor):
        return
    with waiting(_read_holder(descriptor)) if wait_seconds > 0.0 else nullcontext():
        while time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            if _locked(descriptor):
                return
    holder = _read_holder(descriptor)
    raise ConflictError(
        f"another mlax-scaffold is at work on {root}{holder and f' ({holder})'}; "
        "wait until it has ended and run again"
    )


def _locked(descriptor: int) -> bool:
    try:
        _lock(descriptor)
    except _BUSY:
        return False
    return True


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
    return f"process {pid}" if pid.isdecimal() else ""
