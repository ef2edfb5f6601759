"""`rename`, `move` and `remove`: with all that uses a definition, in one step."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli_projects import ProjectFolder

from mlax_scaffold.errors import FindingsError

TRAIN = """\
import mynet.graph as bx
from app import Scale as Ours
from mynet import nn
from mynet.nn import Scale, Twice
from mynet.nn.scale import ScaleTrainables

# Scale is the first.
layer = Scale.init, nn.Scale.fwd, bx.Scale, bx.nn.Scale, Twice, Ours
"""
SPECS = ("specs/nn/scale.py", "specs/nn/twice.py")


@pytest.fixture
def used(generated: ProjectFolder) -> ProjectFolder:
    """A project with code that uses its layers."""
    generated.write("train.py", TRAIN)
    generated.write("app/__init__.py", "from mynet.nn import Scale\n")
    generated.write("notes.md", "Use `Scale`.\n")
    return generated


def test_rename_changes_all_that_uses_it(used: ProjectFolder):
    before = used.files()
    shown = used.ok("rename", "Scale", "Gain", "--no-trial")
    assert used.text("train.py") == (
        TRAIN.replace("Scale", "Gain")
        .replace("nn.scale", "nn.gain")
        .replace("# Gain is", "# Scale is")
    )
    assert used.text("app/__init__.py") == "from mynet.nn import Gain\n"
    assert "class Gain(Layer)" in used.text("specs/nn/gain.py")
    assert "from specs.nn.gain import Gain" in used.text("specs/nn/twice.py")
    assert "class GainTrainables" in used.text("mynet/nn/gain.py")
    left = [path for path in used.files() if path.endswith("scale.py")]
    assert left == []
    assert "all clean" in used.ok("check")
    assert "  notes.md:1\n  train.py:7\n" in shown
    assert 'Undid "rename Scale Gain"' in used.ok("undo")
    assert used.files() == before


def test_a_spec_keeps_the_name_of_its_file_if_that_is_another(project: ProjectFolder):
    os.rename(project.root / SPECS[0], project.root / "specs/nn/layers.py")
    text = project.text(SPECS[1]).replace("nn.scale", "nn.layers")
    project.write(SPECS[1], text)
    project.ok("rename", "Scale", "Gain", "--no-trial")
    assert "class Gain" in project.text("specs/nn/layers.py")
    assert "from specs.nn.layers import Gain" in project.text(SPECS[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rename", "Scale", "Twice"], '"Twice" exists already'),
        (["rename", "Scale", "scale"], "expected a name in upper camel case"),
        (["rename", "Scale", "Scale"], "its name already"),
        (["rename", "Scael", "Gain"], 'did you mean "Scale"?'),
        (["rename", "Linear", "Gain"], "comes with mlax-scaffold"),
        (["rename", "Scale", "Size"], "has a meaning in specs"),
        (
            ["move", "Scale", "optim"],
            "expected specs/nn/NAME.py or specs/block/NAME.py",
        ),
        (["move", "Scale", "../nn/a.py"], "is no place for a spec"),
        (["move", "Scale", "specs/nn/twice.py"], "exists already"),
        (["move", "Scale", "nn"], "is its place already"),
        (["remove", "Linear"], "comes with mlax-scaffold"),
    ],
)
def test_what_cannot_be_done_is_said(
    project: ProjectFolder, arguments: list[str], message: str
):
    before = project.files()
    result = project.run(*arguments, "--no-trial")
    assert result.exit_code == 2
    assert message in result.stderr
    assert project.files() == before


def test_move_to_another_section(used: ProjectFolder):
    used.ok("move", "Scale", "block", "--no-trial")
    text = used.text("train.py")
    assert "from mynet.block import Scale\n" in text
    assert "from mynet import block\n" in text
    assert "block.Scale.fwd, bx.Scale, bx.block.Scale" in text
    assert "from specs.block.scale import Scale" in used.text(SPECS[1])
    assert not (used.root / "mynet/nn/scale.py").exists()
    assert "all clean" in used.ok("check")


def test_move_to_another_file(used: ProjectFolder):
    before = used.files()
    used.ok("move", "Scale", "specs/nn/gates.py", "--no-trial")
    assert "from specs.nn.gates import Scale" in used.text(SPECS[1])
    assert used.text("train.py") == TRAIN
    after = used.files()
    assert after["mynet/nn/twice.py"] == before["mynet/nn/twice.py"]
    assert "all clean" in used.ok("check")


def test_what_is_used_is_not_removed(used: ProjectFolder):
    before = used.files()
    result = used.run("remove", "Scale", "--force")
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "Scale is in use:\n  specs/nn/twice.py:2:28: nn.Twice is built on it\n"
    )
    result = used.run("remove", "Twice")
    assert result.exit_code == 1
    assert "Twice is in use:\n  train.py:4: uses it\n" in result.stdout
    assert "pass --force" in result.stdout
    assert used.files() == before


def test_remove_takes_along_what_followed(used: ProjectFolder):
    before = used.files()
    shown = used.ok("remove", "Twice", "--force", "--no-trial")
    assert not [path for path in used.files() if "twice" in path]
    assert "  train.py:4\n" in shown
    assert "all clean" in used.ok("check")
    used.ok("undo")
    assert used.files() == before


@pytest.mark.parametrize(
    "arguments", [["rename", "Twice", "Double"], ["remove", "Twice", "--force"]]
)
def test_looking_first_shows_the_diff(used: ProjectFolder, arguments: list[str]):
    before = used.files()
    shown = used.ok(*arguments, "--dry-run")
    assert "-class Twice(Layer):" in shown
    assert "Would be: " in shown
    assert used.files() == before
    document = used.json(*arguments, "--dry-run")
    assert "specs/nn/twice.py" in document["deleted"]
    assert used.files() == before


def test_looking_first_shows_what_is_moved_as_one_change(used: ProjectFolder):
    shown = used.ok("rename", "Twice", "Double", "--dry-run")
    assert "rename from specs/nn/twice.py\nrename to specs/nn/double.py\n" in shown
    assert "--- a/specs/nn/twice.py\n+++ b/specs/nn/double.py\n@@ " in shown
    assert "+class Double(Layer):\n" in shown
    # Lines that stay are no part of it, and no file is said to appear or to go.
    assert "    def setup(self):\n" not in shown.replace("+    ", "-    ")
    assert "/dev/null" not in shown
    assert "renamed  specs/nn/twice.py -> specs/nn/double.py\n" in shown
    assert "created  specs/" not in shown
    document = used.json("rename", "Twice", "Double", "--dry-run")
    assert document["moved"] == {"specs/nn/twice.py": "specs/nn/double.py"}


def test_a_file_that_only_moves_has_no_lines(used: ProjectFolder):
    shown = used.ok("move", "Twice", "specs/nn/pair.py", "--dry-run")
    moved = "rename from specs/nn/twice.py\nrename to specs/nn/pair.py\n"
    assert moved in shown
    assert "+class Twice" not in shown


@pytest.mark.parametrize(
    "arguments", [["rename", "Twice", "Double"], ["remove", "Twice", "--force"]]
)
def test_an_edit_by_hand_is_not_lost(used: ProjectFolder, arguments: list[str]):
    used.write("mynet/nn/twice.py", "# Generated by mlax-scaffold.\n# Mine.\n")
    arguments = [a for a in arguments if a != "--force"]
    used.write("train.py", TRAIN.replace(", Twice", ""))
    before = used.files()
    result = used.run(*arguments, "--no-trial")
    assert result.exit_code == 1
    assert "mynet/nn/twice.py" in result.stdout
    document = used.json(*arguments, "--dry-run", status=1)
    assert document["conflicts"] == ["mynet/nn/twice.py"]
    assert "errors" in used.json(*arguments, status=1)
    assert used.files() == before


def test_only_files_of_the_project_change(used: ProjectFolder, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "other.py").write_text(TRAIN)
    (used.root / "linked").symlink_to(outside)
    (used.root / "link.py").symlink_to(outside / "other.py")
    for place in (".venv/lib/a.py", ".hidden/a.py", "env/a.py", "node_modules/a.py"):
        used.write(place, TRAIN)
    used.write("env/pyvenv.cfg", "")
    used.write("python2.py", f"{TRAIN}print 'Scale'\n")
    before = used.files()
    used.ok("rename", "Scale", "Gain", "--no-trial")
    assert (outside / "other.py").read_text() == TRAIN
    after = used.files()
    same = {"python2.py", "link.py", "env/a.py", ".venv/lib/a.py", ".hidden/a.py"}
    assert {path: after[path] for path in same} == {path: before[path] for path in same}


def test_line_ends_stay(used: ProjectFolder):
    windows = ["train.py", "specs/nn/scale.py", "mynet/nn/__init__.py"]
    for path in windows:
        place = used.root / path
        place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n"))
    used.ok("rename", "Scale", "Gain", "--no-trial")
    for path in ["train.py", "specs/nn/gain.py", "mynet/nn/__init__.py"]:
        data = (used.root / path).read_bytes()
        assert data.count(b"\r\n") == data.count(b"\n"), path
    assert b"\r" not in (used.root / "mynet/nn/twice.py").read_bytes()
    assert "all clean" in used.ok("check")


@pytest.mark.parametrize("command", [["rename", "Scale", "Gain"], ["remove", "Twice"]])
def test_what_does_not_import_is_not_written(
    generated: ProjectFolder, monkeypatch: pytest.MonkeyPatch, command: list[str]
):
    def refuse(*_: object) -> None:
        raise FindingsError("It does not import.")

    monkeypatch.setattr("mlax_scaffold.project.trial.try_out", refuse)
    before = generated.files()
    result = generated.run(*command)
    assert (result.exit_code, result.stdout) == (1, "It does not import.\n")
    assert generated.files() == before
