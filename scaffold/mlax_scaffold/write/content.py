"""What is to be written, and how contents are compared."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Output:
    """One generated file, as text in memory.

    `path` is posix and relative to the project's root. `source` is the path of the
    spec that the file follows from, or "" where it follows from all specs (a registry)
    or from none (support code).
    """

    path: str
    text: str
    source: str


def digest(data: bytes | str) -> str:
    r"""The sha256 of a content, in hex, with `\r\n` counted as `\n`.

    Git may check files out with other line endings than it stores (`core.autocrlf`).
    That is nobody's edit, so contents that differ only so have one digest. Specs must
    be hashed with this function as well, or a checkout on Windows would look stale.
    """
    if isinstance(data, str):
        data = data.encode()
    return hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()


def has_conflict_markers(data: bytes) -> bool:
    """Whether the content holds the markers that a failed merge leaves."""
    lines = (b"\n" + data).replace(b"\r\n", b"\n")
    return b"\n<<<<<<< " in lines and b"\n>>>>>>> " in lines
