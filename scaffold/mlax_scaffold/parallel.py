"""Divides work among copies of this process, one for each processor."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Input = TypeVar("Input")
Result = TypeVar("Result")

_FEWEST = 16
"""The inputs that are worth a copy of the process."""

_MOST = 8
"""More copies would wait for this process, which gathers what they make."""


def divided(
    work: Callable[[Sequence[Input]], Sequence[Result]], inputs: Sequence[Input]
) -> list[Result]:
    """`work(inputs)`, where it makes one result of each input, whatever the others are.

    What a copy keeps beside its results is lost. Where anything fails, all of the work is done
    here, so that an error is the same on every machine.
    """
    number = min(_processors(), len(inputs) // _FEWEST, _MOST)
    if number < 2:
        return list(work(inputs))
    copies = [_Copy.of(work, inputs[first::number]) for first in range(1, number)]
    try:
        shares = [work(inputs[::number]), *(copy.result() for copy in copies)]
    except Exception:
        return list(work(inputs))
    finally:
        for copy in copies:
            copy.end()
    return [shares[i % number][i // number] for i in range(len(inputs))]


def _processors() -> int:
    """How many copies can run at once: one, where this process cannot be copied.

    The threads of jax would not be copied with it.
    """
    if not hasattr(os, "fork") or "jax" in sys.modules:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class _Copy:
    """A copy of this process, and where it writes its results."""

    pid: int
    answer: int

    @classmethod
    def of(cls, work: Callable[[Any], Any], inputs: object) -> _Copy:
        """Have a copy do some work."""
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            _answer(work, inputs, writing)
        os.close(writing)
        return cls(pid, reading)

    def result(self) -> Any:
        """What the copy made.

        Raises:
            EOFError: it failed.
        """
        with os.fdopen(os.dup(self.answer), "rb") as file:
            return pickle.load(file)

    def end(self) -> None:
        """End it, if it has not ended."""
        os.close(self.answer)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _answer(work: Callable[[Any], Any], inputs: object, writing: int) -> None:
    """Do the work, write the results, and end, whatever happens."""
    try:
        # What this process holds, such as a lock, ends with it, however long a copy lives.
        os.closerange(3, writing)
        os.closerange(writing + 1, os.sysconf("SC_OPEN_MAX"))
        made = pickle.dumps(work(inputs))
        with os.fdopen(writing, "wb") as file:
            file.write(made)
    finally:
        os._exit(0)
