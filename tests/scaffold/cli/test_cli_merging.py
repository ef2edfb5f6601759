"""Branches that each change specs, merged by git as it is installed: nothing is left to do by hand."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli_projects import SCALE, ProjectFolder

from mlax_scaffold.render import formatting
from mlax_scaffold.write import LOCK_NAME

DOUBLE = '''\
from mlax_scaffold.spec import Float, function


@function
def double(x: Float["..."]) -> Float["..."]:
    """Twice the input."""
    return x + x
'''


def layer(name: str) -> str:
    """A spec that builds on nothing."""
    return SCALE.replace("class Scale", f"class {name}")


@dataclass
class Repository(ProjectFolder):
    """A project under git."""

    def git(self, *arguments: str, status: int = 0) -> str:
        """What git prints."""
        identity = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"))
        }
        environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={**environment, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_EDITOR": "true"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def add(self, *specs: tuple[str, str]) -> None:
        """Write specs, generate, commit."""
        for path, text in specs:
            self.write(path, text)
        self.ok("generate", "--quiet")
        self.commit(" and ".join(path for path, _ in specs))

    def commit(self, message: str) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def conflicts(self) -> list[str]:
        """The files that git could not merge."""
        return self.git("diff", "--name-only", "--diff-filter=U").split()

    def imports(self, *names: str, folder: Path | None = None) -> None:
        """Import names of the package in a process of its own."""
        program = f"from mynet.nn import {', '.join(names)}; import mynet.graph"
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder or self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


SPECS = {
    "layer": ("specs/nn/alpha.py", layer("Alpha")),
    "other layer": ("specs/nn/beta.py", layer("Beta")),
    "last layer": ("specs/nn/zeta.py", layer("Zeta")),
    "function": ("specs/functional/double.py", DOUBLE),
}
PAIRS = [
    ("layer", "other layer"),
    ("other layer", "layer"),
    ("layer", "last layer"),
    ("layer", "function"),
]


@pytest.fixture
def repository(empty: ProjectFolder) -> Repository:
    """A project with one layer, whose branches begin at `main`."""
    found = Repository(empty.root)
    (found.root / "pyproject.toml").unlink()
    found.ok("init", "--package", "mynet")
    found.git("init", "-qb", "main")
    found.write(".gitignore", "__pycache__/\n.mlax-scaffold/\n")
    found.add(("specs/nn/scale.py", SCALE))
    return found


def two_sides(repository: Repository, ours: str, theirs: str) -> None:
    """Branches `theirs` and `ours` with an addition each; `ours` is checked out."""
    for branch, spec in (("theirs", theirs), ("ours", ours)):
        repository.git("checkout", "-qb", branch, "main")
        repository.add(SPECS[spec])


def assert_settled(repository: Repository) -> None:
    """All is clean without another command, and in order after one."""
    assert repository.conflicts() == []
    assert "all clean" in repository.ok("check")
    assert "all clean" in repository.ok("check", "--render")
    before = repository.text(LOCK_NAME)
    repository.ok("generate")
    # A merge may leave lines twice and in another order, and nothing else.
    assert set(repository.text(LOCK_NAME).splitlines()) == set(before.splitlines())
    assert "all clean" in repository.ok("check")


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_two_additions_merge(repository: Repository, ours: str, theirs: str):
    two_sides(repository, ours, theirs)
    repository.git("merge", "-q", "--no-edit", "theirs")
    if "function" not in (ours, theirs):
        names = {"layer": "Alpha", "other layer": "Beta", "last layer": "Zeta"}
        repository.imports("Scale", names[ours], names[theirs])
    assert_settled(repository)


@pytest.mark.parametrize(
    "way",
    [
        ("rebase", "-q", "theirs"),
        ("cherry-pick", "theirs"),
        ("merge", "-q", "--squash", "theirs"),
    ],
    ids=lambda way: way[0],
)
def test_two_layers_by_other_ways(repository: Repository, way: tuple[str, ...]):
    two_sides(repository, "layer", "other layer")
    repository.git(*way)
    repository.imports("Scale", "Alpha", "Beta")
    assert_settled(repository)


@pytest.mark.parametrize("theirs", ["last layer", "other layer"])
def test_an_addition_is_reverted_after_another(repository: Repository, theirs: str):
    """Where their lines do not touch that is all; where they do, `check` says what is left to do.

    Of a line that one side takes away beside one that the other adds, git's union may have both,
    of the record or of what is recorded. Such a line might be somebody's, so that it is not
    taken away without a word.
    """
    two_sides(repository, "layer", theirs)
    repository.git("merge", "-q", "--no-edit", "theirs")
    repository.git("revert", "--no-edit", "theirs")
    assert repository.conflicts() == []
    if theirs == "other layer":
        result = repository.run("check")
        assert result.exit_code == 1
        assert "mynet/nn/__init__.py: edited by hand" in result.output
        assert "discard it with `mlax-scaffold generate --force`" in result.output
        repository.ok("generate", "--force")
    repository.imports("Scale", "Alpha")
    assert_settled(repository)
    for name in ("beta", "zeta"):
        assert not (repository.root / f"mynet/nn/{name}.py").exists()


def test_an_addition_waits_in_a_stash(repository: Repository):
    repository.git("checkout", "-qb", "theirs", "main")
    repository.add(SPECS["other layer"])
    repository.git("checkout", "-q", "main")
    repository.write(*SPECS["layer"])
    repository.ok("generate")
    repository.git("stash", "-u")
    repository.git("merge", "-q", "theirs")
    repository.git("stash", "pop")
    repository.imports("Scale", "Alpha", "Beta")
    assert_settled(repository)


def test_an_addition_in_another_worktree(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
):
    place = repository.root.parent / "worktree"
    repository.git("worktree", "add", "-qb", "theirs", str(place), "main")
    monkeypatch.chdir(place)
    Repository(place).add(SPECS["other layer"])
    monkeypatch.chdir(repository.root)
    repository.add(SPECS["layer"])
    repository.git("merge", "-q", "--no-edit", "theirs")
    assert_settled(repository)


def test_other_line_ends_are_no_difference(repository: Repository):
    repository.git("config", "core.autocrlf", "true")
    repository.git("rm", "-rqf", "--cached", ".")
    repository.git("reset", "-q", "--hard")
    assert b"\r\n" in (repository.root / "mynet/nn/scale.py").read_bytes()
    two_sides(repository, "layer", "other layer")
    repository.git("merge", "-q", "--no-edit", "theirs")
    assert_settled(repository)


@contextmanager
def formatter(version: str, *options: str) -> Iterator[None]:
    """As if another patch were installed, which lays bodies out by these options."""
    run, versions = formatting._run, importlib.metadata.version

    def other(root: Path, command: str, *arguments: str, **how: int):
        # Registries are lines that leave nothing to a formatter's taste.
        added = options if formatting._COMPACT in arguments else ()
        return run(root, command, *arguments, *added, **how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(formatting, "_run", other)
        patch.setattr(
            "importlib.metadata.version",
            lambda name: version if name == "ruff" else versions(name),
        )
        yield


def two_formatters(repository: Repository, *options: str) -> None:
    """Two additions, the other side's with a later patch; then they are merged."""
    for branch, spec, version, used in (
        ("theirs", "other layer", "0.17.9", options),
        ("ours", "layer", "0.17.5", ()),
    ):
        repository.git("checkout", "-qb", branch, "main")
        with formatter(version, *used):
            repository.add(SPECS[spec])
    repository.git("merge", "-q", "--no-edit", "theirs")
    assert repository.conflicts() == []
    repository.imports("Scale", "Alpha", "Beta")


def test_formatters_of_two_patch_versions(repository: Repository):
    """To whoever has either of them all is clean, without another command."""
    two_formatters(repository)
    for version in ("0.17.9", "0.17.5"):
        with formatter(version):
            assert_settled(repository)


def test_a_later_patch_that_lays_out_otherwise(repository: Repository):
    """It changes files that the other side has as they were: `generate` makes them one layout."""
    other = ("--config", "format.quote-style='single'")
    two_formatters(repository, *other)
    assert "size('Beta'" in repository.text("mynet/nn/beta.py")
    assert 'size("Alpha"' in repository.text("mynet/nn/alpha.py")
    with formatter("0.17.5"):
        assert "edited by hand" not in repository.run("check").stdout
        assert_settled_by_generating(repository)
    with formatter("0.17.9", *other):
        assert "all clean" in repository.ok("check")


def assert_settled_by_generating(repository: Repository) -> None:
    """Nothing stands in the way, and all has the layout of who generates."""
    repository.ok("generate")
    assert 'size("Beta"' in repository.text("mynet/nn/beta.py")
    assert "all clean" in repository.ok("check", "--render")


def _both_edit(repository: Repository) -> None:
    texts = {
        "theirs": SCALE.replace("x * self.weight", "self.weight * x * x"),
        "ours": SCALE.replace("x * self.weight", "x * self.weight + self.weight"),
    }
    for branch, text in texts.items():
        repository.git("checkout", "-qb", branch, "main")
        repository.add(("specs/nn/scale.py", text))


def test_the_same_spec_edited_on_both_sides_conflicts_there_alone(
    repository: Repository,
):
    _both_edit(repository)
    repository.git("merge", "-q", "--no-edit", "theirs", status=1)
    assert repository.conflicts() == ["specs/nn/scale.py"]
    # The markers are told as those of a merge, and nothing is generated from them.
    result = repository.run("generate")
    assert result.exit_code == 1
    assert "specs/nn/scale.py:" in result.stdout
    repository.write("specs/nn/scale.py", SCALE.replace("x * self", "x * 2 * self"))
    repository.ok("generate")
    assert "x * 2" in repository.text("mynet/nn/scale.py")
    assert "all clean" in repository.ok("check", "--render")


def test_without_attributes_markers_are_generated_over(repository: Repository):
    (repository.root / ".gitattributes").unlink()
    repository.commit("as before there were attributes")
    two_sides(repository, "layer", "other layer")
    repository.git("merge", "-q", "--no-edit", "theirs", status=1)
    assert LOCK_NAME in repository.conflicts()
    assert repository.run("check").exit_code == 1
    repository.ok("generate")
    repository.imports("Scale", "Alpha", "Beta")
    assert_settled_files(repository)


def assert_settled_files(repository: Repository) -> None:
    """No file holds a marker, and all is clean."""
    for path in repository.git("ls-files").split():
        assert "<<<<<<<" not in repository.text(path)
    assert "all clean" in repository.ok("check", "--render")


def test_an_edit_by_hand_is_not_taken_for_a_merge(repository: Repository):
    two_sides(repository, "layer", "other layer")
    repository.git("merge", "-q", "--no-edit", "theirs")
    path = "mynet/nn/alpha.py"
    repository.write(path, repository.text(path) + "# by hand\n")
    result = repository.run("generate")
    assert result.exit_code == 1
    assert f"{path}: edited by hand" in result.stdout


def test_init_adds_the_attributes_to_those_there_are(empty: ProjectFolder):
    empty.write(".gitattributes", "*.png binary")
    assert "Extended .gitattributes." in empty.ok("init", "--package", "mynet")
    text = empty.text(".gitattributes")
    assert text.startswith("*.png binary\n")
    for place in (
        "/mynet/**",
        "/tests/generated/**",
        "/docs/reference/**",
        f"/{LOCK_NAME}",
    ):
        assert f"\n{place} merge=union linguist-generated\n" in text
    assert "Nothing to do" in empty.ok("init", "--package", "mynet")
    assert empty.text(".gitattributes") == text
