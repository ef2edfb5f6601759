"""Text for people: what changed, what is going on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

_PATIENCE_SECONDS = 0.7


def plural(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def changed_lines(
    created: Sequence[str], updated: Sequence[str], deleted: Sequence[str]
) -> Iterator[str]:
    """A line for each file that is created, updated or deleted."""
    groups = (
        ("created", "green", created),
        ("updated", "yellow", updated),
        ("deleted", "red", deleted),
    )
    for word, colour, paths in groups:
        for path in paths:
            yield f"  {click.style(word, fg=colour)}  {path}"


def counts(
    created: Sequence[str], updated: Sequence[str], deleted: Sequence[str]
) -> str:
    """`2 created, 1 updated, 0 deleted`."""
    return f"{len(created)} created, {len(updated)} updated, {len(deleted)} deleted"


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Say on a terminal what is going on, once it takes long, and for how long."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    done = threading.Event()

    def tick() -> None:
        begin = time.monotonic()
        if done.wait(_PATIENCE_SECONDS):
            return
        while True:
            stream.write(f"\r{text} ... {time.monotonic() - begin:.0f} s ")
            stream.flush()
            if done.wait(0.5):
                break
        stream.write("\r" + " " * (len(text) + 12) + "\r")
        stream.flush()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
