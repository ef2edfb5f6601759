"""A small project, and the command line run on it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mlax_scaffold.cli.group import cli
from mlax_scaffold.project import processes

PYPROJECT = '[tool.mlax-scaffold]\npackage = "mynet"\n'
SCALE = '''\
from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Scale(Layer):
    """Product of the last axis and a weight."""

    features: Size  #: size of the last axis

    def setup(self):
        self.weight = trainable(ones, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x * self.weight  # by element
'''
TWICE = '''\
from mlax_scaffold.spec import Float, Layer, Size
from specs.nn.scale import Scale


class Twice(Layer):
    """Two scales."""

    features: Size  #: size of the last axis

    def setup(self):
        self.first = Scale(self.features)
        self.second = Scale(self.features)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return self.second(self.first(x))
'''


@dataclass
class ProjectFolder:
    """A project on disk."""

    root: Path

    def run(self, *arguments: str, trial: bool = False, **options: Any) -> Result:
        """Run a command in this process; `generate` without the trial, which starts another."""
        if arguments[:1] == ("generate",) and not trial:
            arguments = (*arguments, "--no-trial")
        return CliRunner().invoke(cli, arguments, **options)

    def ok(self, *arguments: str) -> str:
        """What a command prints that must succeed."""
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.output

    def json(self, *arguments: str, status: int = 0) -> Any:
        """What a command prints with `--format json`."""
        result = self.run(*arguments, "--format", "json")
        assert result.exit_code == status, result.output
        return json.loads(result.stdout)

    def write(self, path: str, text: str) -> Path:
        """Write a file."""
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return place

    def text(self, path: str) -> str:
        """Read a file."""
        return (self.root / path).read_text()

    def files(self) -> Mapping[str, str]:
        """The digest of each file, but for what the program keeps for itself."""
        skipped = {".mlax-scaffold", "__pycache__", ".hypothesis", ".pytest_cache"}
        return {
            str(path.relative_to(self.root)): hashlib.sha256(
                path.read_bytes()
            ).hexdigest()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
            and not skipped.intersection(path.relative_to(self.root).parts)
        }


@contextmanager
def cold() -> Iterator[None]:
    """Nothing is warm for the programs that commands start, as where a person runs a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "_warm", ContextVar("warm", default=None))
        yield


def execute(
    arguments: Sequence[str], folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        [sys.executable, "-m", "mlax_scaffold", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def on_a_terminal(
    folder: Path, arguments: Sequence[str], typed: str = "", **environment: str
) -> tuple[int, str]:
    """Run the program in a pseudo-terminal; its status and all that was shown."""
    import pty

    path = os.pathsep.join(p for p in sys.path if p)
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "mlax_scaffold", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TERM": "xterm", **environment},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    os.write(controller, typed.encode())
    shown = bytearray()
    while True:
        try:
            part = os.read(controller, 4096)
        except OSError:  # The other end is closed.
            break
        if not part:
            break
        shown += part
    os.close(controller)
    return process.wait(60), shown.decode()
