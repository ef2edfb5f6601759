"""Completion, by the key that people press in their shell."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from cli_projects import ProjectFolder

SHELLS = {
    "bash": (["bash", "--norc", "-i"], 'eval "$(mlax-scaffold completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -Uz compinit; compinit -u -D; eval "$(mlax-scaffold completion zsh)"',
    ),
    "fish": (
        ["fish", "--no-config", "-i"],
        "mlax-scaffold completion fish | source",
    ),
}
"""How each is started, and what its user has in the file that it reads first."""

THERE = [shell for shell in SHELLS if shutil.which(shell)]
CASES = {
    "mlax-scaffold show Twi": "Twice",
    "mlax-scaffold rename Twi": "Twice",
    "mlax-scaffold hist": "history",
    "mlax-scaffold check --rend": "--render",
    "mlax-scaffold new-layer A --archetype recu": "recurrent",
}


class Terminal:
    """A shell in a pseudo-terminal."""

    def __init__(self, shell: str, folder: Path, programs: Path):
        start, setup = SHELLS[shell]
        self.controller, terminal = pty.openpty()
        self.process = subprocess.Popen(
            start,
            cwd=folder,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            # What a shell is typed into is the terminal of its session.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "HOME": str(programs),
                "TERM": "xterm",
                "fish_features": "no-query-term",
            },
        )
        os.close(terminal)
        self.type(f"{setup}; echo rea''dy\r")
        self.read_until(r"ready")

    def type(self, text: str) -> None:
        os.write(self.controller, text.encode())

    def read_until(self, pattern: str) -> str:
        """What is shown up to something that must appear."""
        shown, deadline = "", time.monotonic() + 60
        while not re.search(pattern, shown):
            left = deadline - time.monotonic()
            assert left > 0, shown
            if select.select([self.controller], [], [], left)[0]:
                shown += os.read(self.controller, 4096).decode(errors="replace")
                shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
        return shown

    def close(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.controller)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the program, as an installation has it."""
    folder = tmp_path / "programs"
    folder.mkdir()
    path = os.pathsep.join(p for p in sys.path if p)
    program = folder / "mlax-scaffold"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" -m mlax_scaffold "$@"\n'
    )
    program.chmod(0o755)
    return folder


def test_one_shell_is_there():
    assert "bash" in THERE


@pytest.mark.parametrize(
    "shell",
    [
        pytest.param(
            shell,
            marks=pytest.mark.skipif(
                shell not in THERE, reason=f"{shell} is not installed"
            ),
        )
        for shell in SHELLS
    ],
)
def test_the_key_completes(project: ProjectFolder, programs: Path, shell: str):
    terminal = Terminal(shell, project.root, programs)
    try:
        for typed, completed in CASES.items():
            terminal.type(f"{typed}\t")
            # A space behind it says that the shell knows of no other.
            terminal.read_until(re.escape(completed) + r"\x07?.?\s")
            terminal.type("\x15")
    finally:
        terminal.close()
