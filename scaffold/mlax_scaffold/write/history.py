"""What the last transactions replaced, so that they can be undone."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from mlax_scaffold.errors import UsageError
from mlax_scaffold.write.content import digest
from mlax_scaffold.write.failure import WriteError, explained
from mlax_scaffold.write.journal import HISTORY
from mlax_scaffold.write.plan import Change
from mlax_scaffold.write.tree import LOCK_NAME, Tree

KEPT_RECORDS = 10


@dataclass(frozen=True)
class Replaced:
    """One file of a past transaction: the old content, the digest of the new one."""

    path: str
    before: bytes | None
    after: str | None
    mode: int | None


@dataclass(frozen=True)
class Record:
    """A past transaction: its title, the files it replaced, the directories it made."""

    title: str
    files: tuple[Replaced, ...]
    created: tuple[str, ...]

    @classmethod
    def of(
        cls, title: str, changes: Iterable[Change], created: Iterable[str]
    ) -> Record:
        """The record of a transaction that is about to be committed."""
        files = tuple(
            Replaced(
                path=c.path,
                before=c.before,
                after=None if c.after is None else digest(c.after),
                mode=c.mode if c.before is not None else None,
            )
            for c in changes
        )
        return cls(title, files, tuple(created))

    def data(self) -> bytes:
        """The record's file: the title has a line of its own, to be quick to read."""
        files = [
            [
                file.path,
                None if file.before is None else _pack(file.before),
                file.after,
                file.mode,
            ]
            for file in self.files
        ]
        body = {"files": files, "created": list(self.created)}
        return f"{json.dumps(self.title)}\n{json.dumps(body)}\n".encode()

    @classmethod
    def parse(cls, data: bytes) -> Record:
        """The inverse of `data`. Raises ValueError for anything else."""
        title, body = data.decode().splitlines()
        content = json.loads(body)
        files = tuple(
            Replaced(path, None if before is None else _unpack(before), after, mode)
            for path, before, after, mode in content["files"]
        )
        return cls(json.loads(title), files, tuple(content["created"]))


@dataclass(frozen=True)
class Past:
    """What a past transaction changed, and when, in seconds since the epoch."""

    title: str
    at: float
    created: tuple[str, ...]
    updated: tuple[str, ...]
    deleted: tuple[str, ...]


class History:
    """The undo records of a project, oldest first."""

    def __init__(self, tree: Tree):
        self._tree = tree

    def names(self) -> list[str]:
        """The names of the records."""
        found: list[str] = []
        with explained("read the undo records"), suppress(FileNotFoundError):
            found = os.listdir(self._tree.state(HISTORY))
        return sorted(name for name in found if name.isdecimal())

    def next_name(self) -> str:
        """A name that sorts after all others."""
        names = self.names()
        return f"{int(names[-1]) + 1 if names else 1:08}"

    def titles(self) -> list[str]:
        """The titles of the records, the newest first."""
        titles = []
        with explained("read the undo records"):
            for name in reversed(self.names()):
                with open(self._tree.state(HISTORY, name), "rb") as file:
                    titles.append(json.loads(file.readline()))
        return titles

    def past(self) -> list[Past]:
        """What the transactions changed, the newest first.

        Raises:
            WriteError: a record cannot be read.
        """
        return [self._past(name) for name in reversed(self.names())]

    def _past(self, name: str) -> Past:
        record = self._record(name)
        files = [file for file in record.files if file.path != LOCK_NAME]
        with explained("read the undo record"):
            at = os.stat(self._tree.state(HISTORY, name)).st_mtime
        return Past(
            record.title,
            at,
            tuple(f.path for f in files if f.before is None),
            tuple(f.path for f in files if None not in (f.before, f.after)),
            tuple(f.path for f in files if f.after is None),
        )

    def last(self) -> tuple[str, Record]:
        """The newest record and its name.

        Raises:
            UsageError: there is none.
            WriteError: it cannot be read.
        """
        names = self.names()
        if not names:
            raise UsageError(
                "there is nothing to undo: no run of mlax-scaffold has changed "
                f"anything in {self._tree.root}, or everything has been undone"
            )
        return names[-1], self._record(names[-1])

    def _record(self, name: str) -> Record:
        place = self._tree.state(HISTORY, name)
        with explained("read the undo record"), open(place, "rb") as file:
            data = file.read()
        try:
            return Record.parse(data)
        except (ValueError, KeyError, TypeError, zlib.error) as error:
            raise WriteError(
                f"the undo record {place} cannot be read ({error}); delete it, and use "
                "your version control to go back"
            ) from error

    def trim(self) -> None:
        """Removes the oldest records beyond those kept."""
        # Too many records do no harm.
        with suppress(OSError, WriteError):
            for name in self.names()[:-KEPT_RECORDS]:
                os.unlink(self._tree.state(HISTORY, name))


def _pack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 1)).decode()


def _unpack(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
