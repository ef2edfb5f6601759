"""Command lines that are timed: ours and the peer's."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

TOOL = (sys.executable, "-m", "mlax_scaffold")
"""Our command line, without an installed script."""

# An installed tool has its bytecode; so has what is measured, after its first run.
_ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

PEER_PACKAGE = "datamodel-code-generator"


def script(name: str) -> tuple[str, ...] | None:
    """A console script of this Python's environment; None where it is not installed."""
    place = Path(sys.executable).parent / name
    return (str(place),) if place.exists() else None


def peer() -> tuple[str, ...] | None:
    """The peer's console script; None, and a word about it, where it is not installed."""
    found = script("datamodel-codegen")
    if found is None:
        print(f"No peer: {sys.executable} -m pip install {PEER_PACKAGE}\n")
    return found


def run(command: Sequence[str], folder: Path | None = None) -> str:
    """Run a command that must succeed; returns its standard output.

    Raises:
        SystemExit: it failed; with what it printed.
    """
    done = subprocess.run(
        command,
        cwd=folder,
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = f"{' '.join(command)}: exit status {done.returncode}"
        sys.exit(f"{shown}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def wall(command: Sequence[str], folder: Path | None = None) -> Callable[[], float]:
    """A function that runs a command and returns the seconds it took."""

    def once() -> float:
        start = time.perf_counter()
        run(command, folder)
        return time.perf_counter() - start

    return once


def children_seconds() -> float:
    """Processor time of all child processes so far, theirs included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def imported(command: Sequence[str], folder: Path | None = None) -> set[str]:
    """The modules that `python COMMAND` imports.

    Args:
        command: arguments of this Python.
        folder: where it runs.
    """
    done = subprocess.run(
        (sys.executable, "-X", "importtime", *command),
        cwd=folder,
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    )
    marked = (line for line in done.stderr.splitlines() if line.startswith("import "))
    return {line.rsplit("|", 1)[1].strip() for line in marked}
