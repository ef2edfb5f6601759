"""What `generate` may delete, and what it asks first."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_projects import PYPROJECT, ProjectFolder, execute, on_a_terminal

from mlax_scaffold.write import LOCK_NAME, digest

TWICE_FILES = {
    "mynet/nn/twice.py",
    "mynet/graph/nn/twice.py",
    "tests/generated/nn/test_nn_twice.py",
    "docs/reference/nn/twice.md",
}


def _empty(project: ProjectFolder) -> None:
    for spec in (project.root / "specs/nn").iterdir():
        spec.unlink()


def _rename(project: ProjectFolder) -> None:
    (project.root / "specs/nn").rename(project.root / "specs/layers")


def _replace(project: ProjectFolder) -> None:
    shutil.rmtree(project.root / "specs")
    project.write("specs/README.md", "Specs were here.\n")


def _point_elsewhere(project: ProjectFolder) -> None:
    project.write("pyproject.toml", f'{PYPROJECT}specs = "docs"\n')


def _remove_one(project: ProjectFolder) -> None:
    (project.root / "specs/nn/twice.py").unlink()


def _lose_the_folder(project: ProjectFolder) -> None:
    shutil.rmtree(project.root / "specs")


LOSSES = [_empty, _rename, _replace, _point_elsewhere, _remove_one]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("options", [(), ("--force",), ("--quiet",)])
def test_nothing_is_deleted_unasked(
    generated: ProjectFolder,
    lose: Callable[[ProjectFolder], None],
    options: tuple[str, ...],
):
    lose(generated)
    before = generated.files()
    result = generated.run("generate", *options)
    assert result.exit_code == 1
    assert "specs/nn/twice.py is gone" in result.stdout
    for path in TWICE_FILES:
        assert path in result.stdout
    assert "--prune" in result.stdout
    assert generated.files() == before


def test_without_the_folder_of_specs_nothing_is_deleted(generated: ProjectFolder):
    _lose_the_folder(generated)
    before = generated.files()
    result = generated.run("generate", "--prune")
    assert result.exit_code == 2
    assert "does not exist" in result.stderr
    assert generated.files() == before


@pytest.mark.parametrize("command", ["new-layer", "new-function"])
def test_what_creates_does_not_delete(generated: ProjectFolder, command: str):
    _remove_one(generated)
    before = generated.files()
    result = generated.run(
        command, "ProbeDense" if command == "new-layer" else "probe_dense"
    )
    assert result.exit_code == 1
    assert "specs/nn/twice.py is gone" in result.stdout
    assert generated.files() == before


def test_pruning_deletes_what_followed_from_the_spec_and_can_be_undone(
    generated: ProjectFolder,
):
    before = generated.files()
    _remove_one(generated)
    report = generated.json("generate", "--prune")
    assert set(report["deleted"]) == TWICE_FILES
    assert "all clean" in generated.ok("check")
    generated.ok("undo")
    assert before.items() - generated.files().items() == {
        ("specs/nn/twice.py", before["specs/nn/twice.py"])
    }


def test_looking_first_names_what_would_be_deleted(generated: ProjectFolder):
    _remove_one(generated)
    planned = generated.json("generate", "--dry-run", status=1)
    assert set(planned["orphans"]) == TWICE_FILES
    assert (
        set(generated.json("generate", "--dry-run", "--prune")["deleted"])
        == TWICE_FILES
    )


def test_check_says_how_to_settle_an_orphan(generated: ProjectFolder):
    _remove_one(generated)
    result = generated.run("check")
    assert result.exit_code == 1
    assert "4 orphan: bring its spec back, or delete it with" in result.stdout


@pytest.mark.parametrize(
    ("answer", "deleted"), [("y", True), ("n", False), ("", False)]
)
def test_on_a_terminal_one_is_asked(
    generated: ProjectFolder, answer: str, deleted: bool
):
    _remove_one(generated)
    status, shown = on_a_terminal(generated.root, ["generate"], f"{answer}\n")
    assert shown.count("specs/nn/twice.py is gone, and would take along:") == 1
    assert ("Nothing was changed. Bring the spec back" in shown) is not deleted
    assert "Delete these files? [y/N]" in shown
    assert status == (0 if deleted else 1)
    assert (generated.root / "mynet/nn/twice.py").exists() is not deleted


def test_what_goes_along_with_the_last_spec_is_counted(generated: ProjectFolder):
    """The rest of the package, which nothing needs then."""
    for name in ("scale", "twice"):
        (generated.root / f"specs/nn/{name}.py").unlink()
    listed = generated.json("generate", "--dry-run", "--prune")["deleted"]
    planned = generated.json("generate", "--dry-run", status=1)
    others = set(listed) - set(planned["orphans"])
    assert "mynet/__init__.py" in others
    said = f"With that would go {len(others)} files that nothing else needs"
    assert said in generated.run("generate").stdout
    status, shown = on_a_terminal(generated.root, ["generate"], "y\n")
    assert status == 0
    assert shown.index(said) < shown.index("Delete these files? [y/N]")


MINE = "What somebody wrote.\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("README.md", MINE),
        ("src/work.py", MINE),
        ("src/work.py", "# Generated by mlax-scaffold.\n"),
        ("mynet/nn/mine.py", MINE),
        ("tests/generated/nn/test_mine.py", MINE),
        ("docs/reference/notes.md", MINE),
        ("docs/notes.md", f"<!-- Generated by mlax-scaffold -->\n{MINE}"),
        ("specs/nn/notes.txt", MINE),
        ("pyproject.toml", PYPROJECT),
    ],
)
@pytest.mark.parametrize("source", ["", "specs/nn/gone.py", "specs/nn/scale.py"])
def test_a_line_in_the_record_deletes_nothing_of_somebodys(
    generated: ProjectFolder, path: str, text: str, source: str
):
    generated.write(path, text)
    lock = generated.root / LOCK_NAME
    line = json.dumps(["file", path, source, digest(text)])
    lock.write_text(f"{lock.read_text()}{line}\n")
    generated.ok("generate", "--prune", "--force")
    assert generated.text(path) == text
    assert path not in lock.read_text()


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "section link"])
def test_what_stands_in_the_place_of_a_spec_is_named(
    generated: ProjectFolder, kind: str
):
    place = generated.root / "specs/nn/twice.py"
    place.unlink()
    shown = "specs/nn/twice.py"
    match kind:
        case "folder":
            place.mkdir()
        case "link":
            place.symlink_to("nowhere.py")
        case "pipe":
            os.mkfifo(place)
        case "section link":
            shutil.rmtree(place.parent)
            place.parent.symlink_to("nowhere")
            shown = "specs/nn"
    before = generated.files()
    for command in ("generate", "check", "list"):
        done = execute([command], generated.root)
        assert done.returncode == 1, done.stderr
        assert f"{shown}:1:1: " in done.stdout
        assert "expected a" in done.stdout
        assert "Traceback" not in done.stderr
    assert generated.files() == before


@pytest.mark.parametrize("place", ["specs/nn", "specs/nn/twice.py"])
def test_what_cannot_be_read_is_named(
    generated: ProjectFolder, place: str, monkeypatch: pytest.MonkeyPatch
):
    # The permissions themselves mean nothing to a superuser.
    def refuse(real):
        def refusing(path, *arguments):
            if Path(path) == generated.root / place:
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *arguments)

        return refusing

    before = generated.files()
    monkeypatch.setattr("os.listdir", refuse(os.listdir))
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse(Path.read_bytes))
    result = generated.run("generate", "--prune")
    assert result.exit_code == 1
    assert f"{place}:1:1: cannot be read: permission denied" in result.stdout
    monkeypatch.undo()
    assert generated.files() == before
