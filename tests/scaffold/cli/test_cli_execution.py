"""No command executes a spec in its own process, and what specs hold can be told on any terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_projects import SCALE, execute

SCRIPT = """
import sys

def audit(event, arguments):
    if event == "exec" and "specs" in arguments[0].co_filename.split("/"):
        print("EXECUTED", arguments[0].co_filename)
    if event == "import" and arguments[0].startswith("specs"):
        print("IMPORTED", arguments[0])
    if event == "open" and "tripwire" in str(arguments[0]):
        print("OPENED", arguments[0])

sys.addaudithook(audit)
from mlax_scaffold.cli import main
main({arguments!r})
"""
TRAPS = SCALE.replace(
    "        self.weight =",
    '        require(self.features > 0, "some")\n'
    "        extent = open('tripwire', 'w').fileno() if self.features > 9 else 0\n"
    "        self.weight =",
).replace("import Float, Layer", "import require, Float, Layer")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.format(arguments=list(arguments))],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [
        ("generate", "--dry-run"),
        ("check", "--render"),
        ("list",),
        ("show", "Scale"),
        ("completion", "bash"),
    ],
    ids=lambda command: command[0],
)
def test_nothing_of_a_spec_is_executed(generated, command):
    done = run(generated.root, *command)
    assert done.returncode in (0, 1), done.stderr
    for word in ("EXECUTED", "IMPORTED", "OPENED"):
        assert word not in done.stdout + done.stderr


def test_a_spec_that_would_open_a_file_is_refused_unopened(empty):
    empty.write("specs/nn/scale.py", TRAPS)
    done = run(empty.root, "generate")
    assert done.returncode == 1, done.stderr
    assert "`open` cannot be called in the body of a spec" in done.stdout
    assert "OPENED" not in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_a_terminal_of_few_characters_shows_escapes(empty, encoding):
    text = SCALE.replace("# by element", "+ self.größe  # 重み").replace(
        "class Scale(Layer)", r'class Scale(Layer, module="\ud800")'
    )
    empty.write("specs/nn/scale.py", text)
    done = execute(["generate"], empty.root, PYTHONIOENCODING=encoding)
    assert done.returncode == 1, done.stderr
    assert "2 errors in 1 spec" in done.stdout
    assert "ud800" in done.stdout
    assert not done.stderr
