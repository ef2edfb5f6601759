"""What specs were read to is kept for the next command, and read again where anything differs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlax_scaffold.model.project import Project
from mlax_scaffold.project import readings, workspace
from mlax_scaffold.project.workspace import Workspace
from mlax_scaffold.reader import kept
from mlax_scaffold.render import render

PROJECT = Project("mynet", "specs", "mynet", "tests", "docs")

TWICE = '''
from mlax_scaffold.spec import Float, Layer


class Twice(Layer):
    """x + x."""

    def forward(self, x: Float["*shape"]) -> Float["*shape"]:
        return {body}
'''


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Reads a project in what could be a process of its own: the library, and the files that were read."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "bytecode"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    root = tmp_path / "project"
    (root / "specs/nn").mkdir(parents=True)
    read_specs = kept.read_specs

    def read(**bodies: str):
        for stem, body in bodies.items():
            text = TWICE.replace("Twice", stem.title()).format(body=body)
            (root / f"specs/nn/{stem}.py").write_text(text)
        kept._readings.cache_clear()
        found: list[str] = []

        def noted(path, *args, **keywords):
            found.append(path)
            return read_specs(path, *args, **keywords)

        monkeypatch.setattr(kept, "read_specs", noted)
        return Workspace(str(root), PROJECT).read(), found

    yield read
    kept._readings.cache_clear()


def test_what_is_the_same_is_not_read_again(read):
    first, found = read(twice="x + x")
    assert found == ["specs/nn/twice.py"]
    again, found = read()
    assert found == []
    assert render(again, PROJECT) == render(first, PROJECT)


def test_what_was_changed_is_read_again(read):
    read(twice="x + x", thrice="x + x + x")
    library, found = read(twice="2 * x")
    assert found == ["specs/nn/twice.py"]
    [twice] = (d for d in library if d.name == "Twice")
    assert "2 * x" in twice.text


def test_another_generator_reads_again(read, monkeypatch):
    read(twice="x + x")
    monkeypatch.setattr(workspace, "generator_fingerprint", lambda: "another")
    assert read()[1] == ["specs/nn/twice.py"]


def test_a_finding_is_found_each_time(read):
    for _ in range(2):
        with pytest.raises(Exception, match="`y` is not defined"):
            read(twice="x + y")


@pytest.mark.parametrize("damage", [b"", b"no pickle", b"\x80\x04N.", b"\x80\x04]."])
def test_damaged_readings_are_read_again(read, tmp_path, damage):
    read(twice="x + x")
    [path] = (tmp_path / "bytecode").rglob("*.readings")
    path.write_bytes(damage)
    assert read()[1] == ["specs/nn/twice.py"]
    assert read()[1] == []


def test_a_place_that_cannot_be_written_is_left_alone(read, tmp_path):
    (tmp_path / "bytecode").write_text("no folder")
    assert read(twice="x + x")[1] == ["specs/nn/twice.py"]
    assert read()[1] == ["specs/nn/twice.py"]


def test_who_wants_no_bytecode_gets_no_readings(read, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    read(twice="x + x")
    assert not [*tmp_path.rglob("*.readings")]


def test_those_that_were_not_asked_for_the_longest_go(read, monkeypatch):
    monkeypatch.setattr(readings, "_MOST", 2)
    read(a="x", b="x + 1")
    read(b="x + 2")
    assert read()[1] == []
    read(b="x + 1", c="x + 3")
    assert set(read()[1]) == {"specs/nn/a.py"}
