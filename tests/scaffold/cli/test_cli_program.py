"""The program itself: help, version, imports, exit status, faults."""

import errno
import json
import os
import subprocess
import sys

import click
import pytest
from cli_projects import execute
from click.testing import CliRunner

from mlax_scaffold.cli.group import COMMANDS, LazyGroup, cli
from mlax_scaffold.cli.options import complete_names

HEAVY = ("jax", "numpy", "libcst", "jinja2", "hypothesis", "pytest")


def imported_by(arguments, folder):
    script = f"""
import sys
from mlax_scaffold.cli import main
try:
    main({list(arguments)!r})
except SystemExit as end:
    print("status", end.code, file=sys.stderr)
print(*sorted(sys.modules), file=sys.stderr)
"""
    path = os.pathsep.join(p for p in sys.path if p)
    run = subprocess.run(
        # Without site, whose .pth files may import what they like.
        [sys.executable, "-S", "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    status, modules = run.stderr.splitlines()[-2:]
    return status, set(modules.split())


def test_help_imports_next_to_nothing(tmp_path):
    status, modules = imported_by(["--help"], tmp_path)
    assert status == "status 0"
    assert modules.isdisjoint(HEAVY)
    ours = {m for m in modules if m.startswith("mlax_scaffold")}
    assert ours == {"mlax_scaffold", "mlax_scaffold.cli", "mlax_scaffold.cli.group"}


def test_an_up_to_date_check_imports_no_generator(generated):
    status, modules = imported_by(["check"], generated.root)
    assert status == "status 0"
    assert modules.isdisjoint((*HEAVY, "mlax_scaffold.render", "mlax_scaffold.rewrite"))


def test_a_check_of_a_stale_tree_does_render(generated):
    (generated.root / "specs/nn/twice.py").unlink()
    status, modules = imported_by(["check"], generated.root)
    assert status == "status 1"
    assert "mlax_scaffold.render" in modules


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command_has_an_example(name):
    result = CliRunner().invoke(cli, [name, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output
    assert "--help" in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_help_says(name):
    assert isinstance(cli, LazyGroup)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    help_text = " ".join((command.help or "").split())
    assert help_text.startswith(COMMANDS[name])


def test_version():
    result = CliRunner().invoke(cli, ["--version"])
    assert result.exit_code == 0
    assert result.output.startswith("mlax-scaffold ")
    assert result.output.split()[1][0].isdigit()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["generat"], 'did you mean "generate"?'),
        (["gen"], 'did you mean "generate"?'),
        (["new-layers"], 'did you mean "new-layer"?'),
        (["qqqq"], "mlax-scaffold --help"),
    ],
)
def test_an_unknown_command_is_wrong_usage(arguments, hint):
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert hint in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["generate", "--nonsense"], ["new-layer"], ["check", "--format", "xml"]],
)
def test_wrong_usage_has_status_2(project, arguments):
    result = project.run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error" in result.stderr


def test_a_fault_is_told_without_traceback(project, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("mlax_scaffold.render.render", fail)
    result = project.run("generate")
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "ZeroDivisionError: by zero" in result.stderr
    assert "fault of mlax-scaffold" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_fault_shows_its_traceback_on_demand(project, monkeypatch, how):
    def fail(*_, **__):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("mlax_scaffold.render.render", fail)
    environment = {"MLAX_SCAFFOLD_DEBUG": "1"} if how == "environment" else {}
    option = ["--debug"] if how == "option" else []
    result = project.run(*option, "generate", env=environment)
    assert result.exit_code == 3
    assert "Traceback (most recent call last)" in result.stderr


def test_an_interruption_has_a_status_of_its_own(project, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mlax_scaffold.render.render", interrupt)
    result = project.run("generate")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr


def test_a_reader_that_goes_away_is_no_fault(generated, monkeypatch):
    def gone(*_, **__):
        raise OSError(errno.EPIPE, "broken pipe")

    monkeypatch.setattr("click.echo", gone)
    result = generated.run("check")
    assert result.exit_code == 1
    assert "fault" not in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert "_MLAX_SCAFFOLD_COMPLETE" in result.output


def test_names_complete(project):
    context = click.Context(cli)
    context.params["directory"] = None
    names = complete_names(context, click.Argument(["name"]), "S")
    assert "Scale" in names
    assert all(name.startswith("S") for name in names)


def test_names_complete_to_nothing_outside_a_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    context = click.Context(cli)
    assert complete_names(context, click.Argument(["name"]), "") == []


def test_a_shell_completes_names_through_the_program(project):
    run = execute(
        [],
        project.root,
        _MLAX_SCAFFOLD_COMPLETE="bash_complete",
        COMP_WORDS="mlax-scaffold show Tw",
        COMP_CWORD="2",
    )
    assert run.stdout.split() == ["plain,Twice"]


def test_colour_is_for_terminals(project):
    coloured = project.run("generate", "--dry-run", color=True).output
    assert "\x1b[" in coloured
    assert "\x1b[" not in project.run("generate", "--dry-run").output
    plain = project.run("generate", "--dry-run", env={"NO_COLOR": "1"}, color=True)
    assert "\x1b[" not in plain.output


def test_json_is_all_that_stands_on_stdout(project):
    for arguments in (["generate"], ["check"], ["list"], ["show", "Scale"], ["undo"]):
        result = project.run(*arguments, "--format", "json")
        assert result.exit_code == 0, result.output
        json.loads(result.stdout)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--project", "a b", "check"], "mlax-scaffold check --project 'a b'\n"),
        (["-q", "generate", "--force"], "mlax-scaffold generate -q --force\n"),
        (["--projct", "x", "check"], "No such option '--projct'.\n"),
        (["--project", "x"], "No such option '--project'.\n"),
    ],
)
def test_an_option_before_its_command_is_told_its_place(arguments, said):
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert result.stderr.endswith(said)
