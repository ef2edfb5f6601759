"""How contents are compared."""

from __future__ import annotations

import hashlib

from mlax_scaffold.model.project import GENERATED


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


def lines_of(data: bytes | str) -> frozenset[str]:
    """What a registry says: its lines that are not blank, in whatever order."""
    text = data if isinstance(data, str) else data.decode(errors="replace")
    return frozenset(line for line in text.splitlines() if line.strip())


def is_generated(data: bytes) -> bool:
    """Whether a content begins as generated files do, or is empty, as a marker file is."""
    return not data or GENERATED.encode() in data.split(b"\n", 1)[0]
