"""What is going on, told on a terminal while it takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_PATIENCE_SECONDS = 0.7
_BAR = 20


def plural(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


@contextmanager
def progress(text: str, longest: float | None = None) -> Iterator[None]:
    """Say on a terminal what is going on, once it takes long, and for how long.

    Args:
        text: what is going on.
        longest: the seconds after which it ends at the latest, for which a bar stands.
    """
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    done = threading.Event()

    def tick() -> None:
        begin = time.monotonic()
        if done.wait(_PATIENCE_SECONDS):
            return
        widest = 0
        while True:
            line = f"{text} ... {_elapsed(time.monotonic() - begin, longest)} "
            widest = max(widest, len(line))
            stream.write(f"\r{line:{widest}}")
            stream.flush()
            if done.wait(0.5):
                break
        stream.write("\r" + " " * widest + "\r")
        stream.flush()

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _elapsed(seconds: float, longest: float | None) -> str:
    if longest is None:
        return f"{seconds:.0f} s"
    filled = min(_BAR, round(_BAR * seconds / longest))
    return f"[{'#' * filled:.<{_BAR}}] {seconds:.0f} of {longest:.0f} s"
