"""Temporary folders that are gone when the process is, however it ends."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from mlax_scaffold.errors import MlaxScaffoldError

# A shell waits for a line, which says that the folder is removed already. The end of its
# input without one is the end of the process. What that had started may still write a little.
_KEEPER = 'read line && exit; rm -rf -- "$1"; sleep 2; rm -rf -- "$1"'


class ScratchError(MlaxScaffoldError):
    """There is no place for temporary files."""


def fill(folder: str, texts: Mapping[str, str]) -> None:
    """Write texts below a folder, by their posix paths, with line ends as they are."""
    for path, text in texts.items():
        place = os.path.join(folder, *path.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


@contextmanager
def scratch() -> Iterator[str]:
    """The path of a new temporary folder, which nothing leaves behind, a kill neither.

    Raises:
        ScratchError: there is no place for one.
    """
    name = f"mlax-scaffold-{secrets.token_hex(8)}"
    try:
        above = os.path.realpath(tempfile.gettempdir())
    except FileNotFoundError as error:
        raise ScratchError(
            "there is no folder for temporary files that can be written to; free some "
            "space there, or name another one in TMPDIR. Nothing was changed."
        ) from error
    folder = os.path.join(above, name)
    with _kept(folder):
        os.mkdir(folder, 0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _kept(folder: str) -> Iterator[None]:
    """Have somebody remove a folder if this process ends within the block."""
    if os.name == "nt":
        yield
        return
    keeper = subprocess.Popen(
        ["/bin/sh", "-c", _KEEPER, "sh", folder],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert keeper.stdin is not None
    try:
        yield
    finally:
        with suppress(OSError):
            keeper.stdin.write(b"done\n")
            keeper.stdin.close()
        keeper.wait()
