"""What a person at a terminal sees of prompts, progress and colour, and what a pipe does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_projects import SCALE, ProjectFolder, execute, on_a_terminal

ESCAPE = "\x1b["


def lines_left(shown: str) -> list[str]:
    """The lines as they stand in the end: what a return goes back over is written over."""
    found = []
    for line in shown.split("\r\n"):
        text = ""
        for part in line.split("\r"):
            text = part + text[len(part) :]
        found.append(re.sub(r"\x1b\[[\d;]*[mK]", "", text).rstrip())
    return found


def test_init_asks_for_the_name_of_the_package(tmp_path: Path):
    status, shown = on_a_terminal(tmp_path, ["init"], "mynet\n")
    assert status == 0, shown
    assert "Import name of the generated package: " in shown
    assert "Created pyproject.toml." in shown
    assert 'package = "mynet"' in (tmp_path / "pyproject.toml").read_text()


def test_init_refuses_a_name_that_will_not_do(tmp_path: Path):
    status, shown = on_a_terminal(tmp_path, ["init"], "my net\n")
    assert status == 2, shown
    assert "my net" in shown
    assert not (tmp_path / "pyproject.toml").exists()


@pytest.mark.parametrize(
    "arguments",
    [("new-layer", "ProbeGate"), ("generate",)],
    ids=lambda a: a[0],
)
def test_progress_is_shown_while_it_lasts(
    empty: ProjectFolder, arguments: tuple[str, ...]
):
    """The trial starts jax, which nobody fails to notice; what is quick may show none."""
    if arguments[0] == "generate":
        empty.write("specs/nn/scale.py", SCALE)
    status, shown = on_a_terminal(empty.root, arguments)
    assert status == 0, shown
    assert re.search(r"\rTrying \w+ (modules )?out \.\.\. \d+ s", shown)
    assert "1 specs" not in shown
    assert not any(line.startswith(("Trying ", "Gener")) for line in lines_left(shown))
    assert ESCAPE in shown
    assert "  created  mynet/nn/" in "\n".join(lines_left(shown))


COMMANDS = [
    ("--help",),
    ("generate", "--dry-run"),
    ("generate", "--diff"),
    ("check",),
    ("list",),
    ("show", "Scale"),
    ("history",),
    ("doctor",),
    ("undo", "--dry-run"),
    ("rename", "Scale", "Gain", "--dry-run"),
    ("remove", "Scale", "--dry-run"),
    ("move", "Scale", "block", "--dry-run"),
    ("absorb", "Scale", "--dry-run"),
    ("new-layer", "ProbeGate", "--dry-run"),
    ("diff",),
    ("update",),
]


def test_a_pipe_has_neither_colour_nor_progress(generated: ProjectFolder):
    generated.write("specs/nn/scale.py", SCALE.replace("x * self", "2 * x * self"))
    for arguments in COMMANDS:
        done = execute(arguments, generated.root)
        for text in (done.stdout, done.stderr):
            assert ESCAPE not in text, arguments
            assert "\r" not in text, arguments
        assert done.returncode in (0, 1, 2), arguments
        assert done.stdout or done.stderr, arguments
