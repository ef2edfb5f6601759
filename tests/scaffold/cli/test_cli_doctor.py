"""`doctor`: what there is, from where, and what is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cli_projects import SCALE, ProjectFolder

from mlax_scaffold.project import environment
from mlax_scaffold.project.environment import satisfies
from mlax_scaffold.write import LOCK_NAME


def wrong(project: ProjectFolder) -> list[str]:
    """What is said to be wrong."""
    result = project.json("doctor", status=1)
    assert all(problem["advice"] for problem in result["problems"])
    return [problem["text"] for problem in result["problems"]]


def test_it_lists_what_there_is_and_changes_nothing(generated: ProjectFolder):
    before = generated.files()
    shown = generated.ok("doctor")
    assert "Nothing is wrong." in shown
    parts = {part["name"]: part for part in generated.json("doctor")["parts"]}
    for name in ("jax", "jaxlib", "click", "jinja2", "libcst", "ruff", "pytest"):
        assert parts[name]["version"] in shown
        assert Path(parts[name]["place"]).is_dir()
    assert Path(parts["templates"]["place"], "package").is_dir()
    assert dict(generated.json("doctor")["project"])["specs"] == "2 in specs"
    assert generated.files() == before


def test_outside_of_a_project_it_tells_of_the_rest(
    empty: ProjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert empty.json("doctor")["project"] == []


def test_what_is_wrong_with_a_project(
    generated: ProjectFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    subprocess.run(["git", "init", "-q", "."], check=True)
    generated.write("specs/layers/alpha.py", SCALE)
    generated.write(LOCK_NAME, "<<<<<<< ours\n")
    (tmp_path / "other/mynet").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "other"))
    found = "\n".join(wrong(generated))
    assert f"mynet is imported from {tmp_path}/other/mynet, not from this" in found
    assert ".gitattributes does not let generated files merge" in found
    assert "mlax-scaffold.lock holds merge conflicts" in found
    assert "specs/layers/alpha.py is not read" in found
    generated.ok("init", "--package", "mynet")
    assert ".gitattributes" not in "\n".join(wrong(generated))


def test_a_wrong_setting_is_told(empty: ProjectFolder):
    empty.write("pyproject.toml", '[tool.mlax-scaffold]\npackage = "3"\n')
    assert 'package is "3"' in wrong(empty)[0]


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ({"ruff": ""}, "ruff is not installed"),
        ({"ruff": "0.16.0"}, "ruff is 0.16.0, where"),
        ({"ruff": "0.18.1"}, "ruff is 0.18.1, where"),
        ({"jax": "0.5.3", "jaxlib": "0.5.3"}, "jax is 0.5.3, where >="),
        (
            {"jax": "0.10.0", "jaxlib": "0.10.1"},
            "jaxlib 0.10.1 is newer than jax 0.10.0",
        ),
        ({"hypothesis": ""}, "generated tests cannot be run"),
    ],
)
def test_what_is_wrong_with_versions(
    empty: ProjectFolder,
    monkeypatch: pytest.MonkeyPatch,
    versions: dict[str, str],
    expected: str,
):
    known = environment._version
    monkeypatch.setattr(
        environment, "_version", lambda name: versions.get(name, known(name))
    )
    monkeypatch.setattr(environment, "_formatter_error", lambda: "")
    assert expected in "\n".join(wrong(empty))
    shown = empty.run("doctor")
    assert f"Wrong: {wrong(empty)[0]}\n  To do: pip install" in shown.stdout


@pytest.mark.parametrize(
    ("version", "bounds", "does"),
    [
        ("1.0", ">=1", True),
        ("1.0.1", ">=1.0.1", True),
        ("0.9", ">=1", False),
        ("0.17.6", "<0.18,>=0.17.5", True),
        ("0.17.4", "<0.18,>=0.17.5", False),
        ("0.18", "<0.18,>=0.17.5", False),
        ("0.10.2.dev1", ">=0.6", True),
        ("10", ">=9.1", True),
    ],
)
def test_bounds(version: str, bounds: str, does: bool):
    assert satisfies(version, bounds) is does


@pytest.mark.parametrize("there", ["missing", "no program"])
def test_a_formatter_that_cannot_be_run_is_to_be_installed(
    empty: ProjectFolder, monkeypatch: pytest.MonkeyPatch, there: str
):
    empty.write("specs/nn/scale.py", SCALE)

    def found() -> str:
        if there == "missing":
            raise FileNotFoundError("no ruff in bin")
        return str(empty.root)

    monkeypatch.setattr("ruff.__main__.find_ruff_bin", found)
    for command in ("generate", "check"):
        result = empty.run(command)
        assert result.exit_code == 2, result.output
        assert "the formatter ruff cannot be run" in result.stderr
        assert "-m pip install --force-reinstall ruff" in result.stderr
        assert "fault" not in result.output
