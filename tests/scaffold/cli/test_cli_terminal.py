"""What a person at a terminal sees of prompts, progress and colour, and what a pipe does not."""

from __future__ import annotations

import re
import sys
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


LINEAR = "src/owned/nn/linear.py"
EDITOR = """
import pathlib, re, sys

place = pathlib.Path(sys.argv[1])
turn = pathlib.Path(__file__).with_name("turn")
number = int(turn.read_text()) if turn.exists() else 0
turn.write_text(str(number + 1))
text = place.read_text()
settled = re.sub(r"<{7} .*?>{7} .*?\\n", "    batch = 'settled'\\n", text, flags=re.DOTALL)
unfinished = settled + "def ("
turns = ["# mine\\n" + text, "", unfinished, unfinished.removesuffix("def (def (")]
place.write_text(turns[number])
"""


def test_a_conflict_is_edited_until_it_is_settled(empty: ProjectFolder, tmp_path: Path):
    """What was edited so far is there the next time; nothing is left of it elsewhere."""
    empty.ok("add", "Linear", "--into", "src/owned", "--no-trial")
    # As if an earlier version had brought it, and somebody had changed it since.
    base = "src/owned/.owned/base/package/nn/linear.py.base"
    for path, other in ((base, "x.shape"), (LINEAR, "x.shape[:-1][:]")):
        assert "batch = x.shape[:-1]" in empty.text(path)
        text = empty.text(path).replace("batch = x.shape[:-1]", f"batch = {other}")
        empty.write(path, text)
    editor, scratch = tmp_path / "editor.py", tmp_path / "scratch"
    editor.write_text(EDITOR)
    scratch.mkdir()
    status, shown = on_a_terminal(
        empty.root,
        ["update", "--edit", "--no-trial"],
        "y\n\ny\n",
        EDITOR=f"{sys.executable} {editor}",
        TMPDIR=str(scratch),
    )
    assert status == 0, shown
    whys = re.findall(rf"{LINEAR} is not settled: ([\w ]+)", shown)
    assert [re.sub(r"\d+", "N", why) for why in whys] == [
        "line N is a marker",
        "it is empty",
        "it is no Python",
    ]
    assert shown.count("Edit it again? [Y/n]: ") == 3
    assert f"Merged with your changes: {LINEAR}" in shown
    assert "# mine\n" in empty.text(LINEAR)
    assert 'batch = "settled"' in empty.text(LINEAR)
    assert "def (" not in empty.text(LINEAR)
    assert list(scratch.iterdir()) == []


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
