"""What every command prints: one document as JSON, nothing when quiet, and no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import click
import pytest
from cli_projects import SCALE, ProjectFolder

from mlax_scaffold.cli.group import COMMANDS, cli

SUCCESSES = [
    ("init", "--package", "mynet"),
    ("init", "--package", "mynet", "--dry-run"),
    ("new-layer", "ProbeDense", "--no-test"),
    ("new-layer", "ProbeDense", "--dry-run"),
    ("new-layer", "ProbeDense", "--diff"),
    ("new-function", "probe_dense", "--no-test"),
    ("new-function", "probe_dense", "--dry-run"),
    ("new-optimizer", "ProbeSlow", "--no-test"),
    ("new-optimizer", "ProbeSlow", "--dry-run"),
    ("generate",),
    ("generate", "--dry-run"),
    ("generate", "--diff"),
    ("generate", "--force", "--prune"),
    ("check",),
    ("check", "--render"),
    ("list",),
    ("show", "Scale"),
    ("rename", "Scale", "Gain", "--dry-run"),
    ("rename", "Scale", "Gain", "--no-trial"),
    ("move", "Scale", "block", "--dry-run"),
    ("move", "Scale", "block", "--no-trial"),
    ("remove", "Twice", "--dry-run"),
    ("remove", "Twice", "--no-trial"),
    ("add", "Bias", "--into", "owned", "--no-trial"),
    ("history",),
    ("doctor",),
    ("undo", "--dry-run"),
    ("undo",),
]
REFUSALS = [
    command
    for command in SUCCESSES
    if command[0].startswith(("new-", "generate", "undo")) and "--force" not in command
]
QUIETLY = [
    c
    for c in SUCCESSES
    if c[0] not in ("list", "show", "history", "doctor") and "--diff" not in c
]


def _with(option: str) -> set[str]:
    context = click.Context(cli)
    commands = {name: cli.get_command(context, name) for name in COMMANDS}
    return {
        name
        for name, command in commands.items()
        if command and any(option in parameter.opts for parameter in command.params)
    }


OTHERS = {
    "test": "runs tests, whose output is theirs",
    "update": "needs what `add` brought: tests/scaffold/owning",
    "absorb": "needs an edit: test_cli_absorb.py",
    "weights": "is a group",
}
"""Commands that have tests of their own, and why."""


def test_every_command_is_among_the_cases():
    assert {command[0] for command in SUCCESSES} >= _with("--format") - set(OTHERS)
    quiet = _with("--quiet") - set(OTHERS) - {"list", "show"}
    assert {command[0] for command in QUIETLY} >= quiet


@pytest.mark.parametrize("command", SUCCESSES, ids=" ".join)
def test_success_is_one_document(generated: ProjectFolder, command: tuple[str, ...]):
    document = generated.json(*command)
    assert isinstance(document, dict | list)


@pytest.mark.parametrize("command", REFUSALS, ids=" ".join)
def test_a_refusal_is_one_document(generated: ProjectFolder, command: tuple[str, ...]):
    generated.write("mynet/nn/scale.py", "by hand\n")
    generated.write("specs/nn/scale.py", SCALE.replace("Product", "The product"))
    document = generated.json(*command, status=1)
    assert "mynet/nn/scale.py" in json.dumps(document)


@pytest.mark.parametrize("command", QUIETLY, ids=" ".join)
def test_quiet_success_prints_nothing(
    generated: ProjectFolder, command: tuple[str, ...]
):
    result = generated.run(*command, "--quiet")
    assert (result.exit_code, result.output) == (0, "")


def test_quiet_without_specs_prints_nothing(empty: ProjectFolder):
    assert empty.ok("generate", "--quiet") == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
@pytest.mark.parametrize(
    "command", ["--help", "--version", "list", "check", "generate"]
)
def test_a_full_output_is_told(generated: ProjectFolder, command: str):
    with open("/dev/full", "w") as full:
        done = _run(generated.root, [command], stdout=full)
    assert done.returncode == 1
    assert done.stderr == (
        "Error: standard output cannot be written to: No space left on device\n"
    )


def test_a_reader_that_leaves_is_no_fault(generated: ProjectFolder):
    reading, writing = os.pipe()
    os.close(reading)
    done = _run(generated.root, ["list"], stdout=writing)
    os.close(writing)
    assert "Error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "module",
    [
        "click",
        "mlax_scaffold.cli.group",
        "mlax_scaffold.cli.commands.generate",
        "mlax_scaffold.project.workspace",
        "mlax_scaffold.write",
        "mlax_scaffold.render",
        "libcst",
        "jinja2",
    ],
)
def test_an_interruption_at_any_import_is_told(project: ProjectFolder, module: str):
    program = f"""
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from mlax_scaffold.cli import main
main(["generate"])
"""
    done = _run(project.root, [], program=program)
    assert done.returncode == 130
    assert done.stderr == "\nInterrupted.\n"
    assert not (project.root / "mynet").exists()


def _run(
    folder: Path,
    arguments: list[str],
    *,
    program: str | None = None,
    stdout: int | IO[str] = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    start = ["-c", program] if program else ["-m", "mlax_scaffold"]
    return subprocess.run(
        [sys.executable, *start, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
