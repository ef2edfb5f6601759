"""The project's own check runs what the README says, and what it names is there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from docs_blocks import ROOT, blocks

CI = ROOT / ".ci"
SCRIPTS = sorted(path.name for path in CI.iterdir())


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/tutorial.md"])
def test_the_commands_of_a_page_are_those_that_are_run(page):
    shell = [b.text for b in blocks((ROOT / page).read_text()) if b.language == "shell"]
    assert run(".ci/guide", "--list", page).stdout == "".join(shell)


def test_ci_follows_the_readme_last():
    """The README creates a layer, and then runs the suite."""
    commands = run(".ci/guide", "--list", "README.md").stdout.splitlines()
    assert [re.sub(r".*/(\S+) ?.*", r"\1", c.split("&&")[-1]) for c in commands] == [
        "mlax-scaffold",
        "python",
    ]
    assert "new-layer" in commands[0]
    assert "-m pytest" in commands[1]
    assert (CI / "run").read_text().splitlines()[-1] == ".ci/guide README.md"


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_can_be_run(script):
    path = CI / script
    assert os.access(path, os.X_OK)
    assert run("-n", f".ci/{script}").stderr == ""
    for named in re.findall(r"(?<![\w/])\.ci/(\w+)", path.read_text()):
        assert named in SCRIPTS, named


def test_steps_have_names():
    names = run(".ci/full", "--list").stdout.split()
    assert len(names) == len(set(names)) > 3
    wrong = run(".ci/full", "nothing")
    assert wrong.returncode == 2
    assert "there are: run wheel-3.11" in wrong.stderr


def test_a_failing_step_fails_and_is_counted(tmp_path: Path):
    text = (CI / "full").read_text()
    steps = re.sub(r"^step .*\n", "", text, flags=re.MULTILINE)
    steps = steps.replace(
        "# A step is one line", "step good true\nstep bad false\n# A step is one line"
    )
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "full").write_text(steps)
    done = run(str(tmp_path / ".ci" / "full"))
    assert done.returncode == 1
    assert re.search(r"^good +passed in \d+ s$", done.stdout, re.MULTILINE)
    assert re.search(r"^bad +FAILED in \d+ s$", done.stdout, re.MULTILINE)
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"
