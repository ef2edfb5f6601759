"""Failures of the file system, told as what could not be done and what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from mlax_scaffold.errors import MlaxScaffoldError

_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space and run again",
    errno.EFBIG: "no file may be that large here; raise the limit and run again",
    errno.EDQUOT: "the disk quota is used up; free some space and run again",
    errno.EACCES: "permission was denied; make it writable and run again",
    errno.EPERM: "permission was denied; make it writable and run again",
    errno.EROFS: "the file system is read-only; run where the project can be written",
    errno.ENOTDIR: "a file stands where a directory is expected; move it away",
    errno.EISDIR: "a directory stands where a file is expected; move it away",
    errno.ENAMETOOLONG: "the name is longer than the file system allows; shorten it",
    errno.EXDEV: "it lies on another file system than the project's root, "
    "so it cannot be replaced atomically; keep the project on one file system",
}


class WriteError(MlaxScaffoldError):
    """The tree could not be written; unless the text says otherwise it is unchanged."""


class OccupiedError(WriteError):
    """A directory stands where a file is expected."""


def is_known(error: OSError) -> bool:
    """Whether the system is in the way, and not the program."""
    return error.errno in _ADVICE


def explain(error: OSError) -> str:
    """What went wrong and what to do, in one clause, without the errno."""
    advice = _ADVICE.get(error.errno or 0, error.strerror or str(error))
    name = error.filename2 or error.filename
    return f"{name}: {advice}" if name else advice


@contextmanager
def explained(action: str) -> Iterator[None]:
    """Turns an OSError within the block into a WriteError: "cannot <action>: <why>"."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"cannot {action}: {explain(error)}") from error
