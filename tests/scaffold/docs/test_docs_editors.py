"""The configurations that the docs ship, on what the program really prints."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from docs_blocks import ROOT, blocks

from mlax_scaffold.cli.group import cli

TASKS_TEXT, HOOKS_TEXT, WORKFLOW_TEXT = (
    block.text
    for block in blocks((ROOT / "docs/editors.md").read_text())
    if block.language in ("json", "yaml")
)
TASKS = json.loads(TASKS_TEXT)["tasks"]
HOOKS = yaml.safe_load(HOOKS_TEXT)
WORKFLOW = yaml.safe_load(WORKFLOW_TEXT)
SPEC = """\
from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Gate(Layer):
    \"\"\"Gate.\"\"\"

    features: Size  #: size of the last axis

    def setup(self):
        self.weight = trainable(ones, (self.features,))

    def forward(self, x: Float["*batch features"]):
        return x * self.weight
"""


def matched(pattern: dict[str, Any], text: str) -> list[dict[str, str]]:
    """What a problem matcher finds in a text, line by line."""
    found = []
    for line in text.splitlines():
        match = re.match(pattern["regexp"], line, re.ASCII)
        names = [n for n in ("file", "line", "column", "message") if n in pattern]
        if match:
            found.append({name: match[pattern[name]] for name in names})
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one layer."""
    spec = tmp_path / "specs/nn/gate.py"
    spec.parent.mkdir(parents=True)
    spec.write_text(SPEC)
    text = '[tool.mlax-scaffold]\npackage = "mynet"\n'
    (tmp_path / "pyproject.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli, ["generate", "--no-trial"]).exit_code == 0
    return tmp_path


def check() -> str:
    return CliRunner().invoke(cli, ["check"]).stdout


def test_an_editor_shows_errors_at_their_lines(project: Path):
    (project / "specs/nn/gate.py").write_text(SPEC.replace("x * self.weight", "self.b"))
    errors, files = (matcher["pattern"] for matcher in TASKS[0]["problemMatcher"])
    shown = check()
    [found] = matched(errors, shown)
    assert (found["file"], found["line"], found["column"]) == (
        *("specs/nn/gate.py", "13", "16"),
    )
    assert found["message"] in shown
    assert matched(files, shown) == []


def test_an_editor_shows_what_does_not_follow(project: Path):
    errors, files = (matcher["pattern"] for matcher in TASKS[0]["problemMatcher"])
    assert matched(files, check()) == matched(errors, check()) == []
    (project / "mynet/py.typed").unlink()
    (project / "mynet/nn/gate.py").write_text("mine\n")
    (project / "specs/layers").mkdir()
    (project / "specs/layers/gate.py").write_text(SPEC)
    (project / "specs/nn/gate.py").write_text(SPEC.replace("Gate.", "A gate."))
    shown = check()
    found = {each["file"]: each["message"] for each in matched(files, shown)}
    assert found["mynet/nn/gate.py"].startswith("edited by hand")
    assert found["mynet/py.typed"] == "missing"
    assert found["specs/layers/gate.py"].startswith("not read")
    assert found["docs/reference/nn/gate.md"].startswith("stale spec")
    assert len(found) == shown.split("\n\n")[0].count("\n") + 1
    assert matched(errors, shown) == []


def test_an_editor_sees_rounds_begin_and_end(project: Path):
    """They are the lines that `watch` prints around each of them."""
    background = TASKS[1]["problemMatcher"]["background"]
    program = "import click; from mlax_scaffold.cli.commands import watch as w\n"
    program += "from mlax_scaffold.cli.group import cli\n"
    program += "w._round(cli.make_context('a', ['list']), {'no_trial': True})\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=project,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    first, last = done.stderr.splitlines()
    assert re.match(background["beginsPattern"], first)
    assert re.match(background["endsPattern"], last)


def test_a_hook_stops_a_commit_of_what_does_not_follow(project: Path):
    [hook] = HOOKS["repos"][0]["hooks"]
    assert not hook["pass_filenames"]
    program, *arguments = shlex.split(hook["entry"])
    assert program == "mlax-scaffold"
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    (project / "mynet/py.typed").unlink()
    assert CliRunner().invoke(cli, arguments).exit_code == 1


def test_every_command_of_the_files_is_one(project: Path):
    steps = WORKFLOW["jobs"]["layers"]["steps"]
    lines = [step["run"] for step in steps if "run" in step]
    lines += [task["command"] for task in TASKS]
    ours = [line for line in lines if line.startswith("mlax-scaffold ")]
    assert len(ours) == 4
    for line in ours:
        result = CliRunner().invoke(cli, [*shlex.split(line)[1:], "--help"])
        assert result.exit_code == 0
        _, name, *options = shlex.split(line)
        command = cli.get_command(cli.make_context("a", [name]), name)
        assert command is not None
        command.make_context(name, options)


def linted(workflow: Path, text: str) -> subprocess.CompletedProcess[str]:
    """What a linter says of a workflow, by the schema that comes with it."""
    workflow.write_text(text)
    schema = ("--builtin-schema", "vendor.github-workflows")
    return subprocess.run(
        [sys.executable, "-m", "check_jsonschema", *schema, str(workflow)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_workflow_is_as_github_reads_it(tmp_path: Path):
    done = linted(tmp_path / "layers.yml", WORKFLOW_TEXT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("runs-on:", "run-on:"),
        ("permissions:\n  contents: read", "permissions:\n  contents: reads"),
        ("uses: actions/checkout@v4", "use: actions/checkout@v4"),
        ("timeout-minutes: 30", "timeout-minutes: soon"),
        ("pull_request:", "pull_requests:"),
    ],
)
def test_the_linter_sees_mistakes(tmp_path: Path, right: str, wrong: str):
    assert right in WORKFLOW_TEXT
    text = WORKFLOW_TEXT.replace(right, wrong, 1)
    done = linted(tmp_path / "layers.yml", text)
    assert done.returncode == 1
    assert "Schema validation errors were encountered" in done.stdout
