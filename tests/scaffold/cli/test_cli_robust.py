"""Whatever ends a command, or stands in its way: the old tree or the new one, and nothing else."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cli_projects import PYPROJECT, SCALE, TWICE, ProjectFolder

from mlax_scaffold.write import recover

REPOSITORY = Path(__file__).parents[3]
KILLS = int(os.environ.get("MLAX_SCAFFOLD_KILLS", "5"))

# Forking a process that has imported everything, and has read its templates, is quick, and it has no
# threads. What is tried of a new layer is not: that would start jax each time. Nor is what is written
# brought to the disk, for what a process has written outlives its being killed.
SERVER = """
import ctypes, json, os, resource, signal, sys, tempfile

from click.testing import CliRunner
from mlax_scaffold.cli.group import COMMANDS, cli
import jinja2, libcst.metadata, ruff.__main__
import mlax_scaffold.render, mlax_scaffold.project.edits, mlax_scaffold.project.qualified
import mlax_scaffold.project.creation, mlax_scaffold.project.refactoring
from mlax_scaffold.project.staging import Outcome, Stage
from mlax_scaffold.write import undo

context = cli.make_context("mlax-scaffold", [], resilient_parsing=True)
for name in COMMANDS:
    cli.get_command(context, name)
Stage.prove = lambda *_: Outcome(0, "1 passed")
os.fsync = lambda descriptor: None

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for command in (["init", "mynet"], ["new-layer", "Probe"], ["rename", "Probe", "Other", "--no-trial"]):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
    os.chdir("/")

def respect_permissions():
    # Without CAP_DAC_OVERRIDE a superuser is as others: what is read-only cannot be written.
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0, os.strerror(ctypes.get_errno())
    sets[0] &= ~(1 << 1)
    assert libc.capset(header, sets) == 0, os.strerror(ctypes.get_errno())

def work(root, commands, limit, obey):
    os.chdir(root)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if obey:
        respect_permissions()
    done = []
    for command in commands:
        result = CliRunner().invoke(cli, command)
        done.append([result.exit_code, result.output])
    return done

for line in sys.stdin:
    tasks = json.loads(line)
    pids = []
    for task in tasks:
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                os.close(reading)
                data = json.dumps(work(*task)).encode()
                os.write(writing, data[:60_000])
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        pids.append((pid, reading))
    print(json.dumps([pid for pid, _ in pids]), flush=True)
    found = []
    for pid, reading in pids:
        data = b""
        while part := os.read(reading, 65536):
            data += part
        os.close(reading)
        _, status = os.waitpid(pid, 0)
        found.append([os.waitstatus_to_exitcode(status), json.loads(data or "null")])
    print(json.dumps(found), flush=True)
"""


@dataclass
class Server:
    """Runs commands in processes of their own."""

    process: subprocess.Popen[str]
    temporary: Path

    def start(
        self,
        roots: Sequence[Path],
        commands: Sequence[Sequence[Sequence[str]]],
        *,
        limit: int | None = None,
        obey: bool = False,
    ) -> list[int]:
        """Run some commands one after another in each root; the ids of the processes."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        tasks = [
            [str(root), each, limit, obey]
            for root, each in zip(roots, commands, strict=True)
        ]
        self.process.stdin.write(json.dumps(tasks) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> list[tuple[int, list[tuple[int, str]] | None]]:
        """How each process ended, and what its commands printed."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def run(
        self, root: Path, *commands: Sequence[str], **how: Any
    ) -> list[tuple[int, str]]:
        """Run commands to their end."""
        self.start([root], [commands], **how)
        [(status, done)] = self.end()
        assert status == 0
        assert done is not None
        return done


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a folder of its own for temporary files."""
    temporary = tmp_path_factory.mktemp("temporary")
    path = os.pathsep.join(p for p in sys.path if p)
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary)},
        text=True,
    )
    yield Server(process, temporary)
    assert process.stdin is not None
    process.stdin.close()
    process.wait(30)


USER = "from mynet.nn import Scale\n\nlayer = Scale\n"
STEPS = (
    ("rename", "Scale", "Gain", "--no-trial"),
    ("undo",),
    ("remove", "Twice", "--no-trial"),
    ("generate", "--no-trial"),
    ("new-layer", "Probe"),
    ("undo",),
    ("undo",),
    ("undo",),
)
"""The last one takes back the very first generation."""


def test_a_kill_at_any_moment_leaves_one_whole_tree(
    server: Server, generated: ProjectFolder, tmp_path: Path
):
    """Of the specs, the generated files, the record and the code that uses them."""
    generated.write("train.py", USER)
    assert _survives(server, generated, STEPS, tmp_path, KILLS) == 5


def test_a_kill_of_an_update_leaves_one_whole_tree(
    server: Server, empty: ProjectFolder, tmp_path: Path
):
    """Of the source that a project owns, and of what it began from."""
    empty.ok("add", "Linear", "Adam", "--into", "src/owned", "--no-trial")
    # As if an earlier version had brought it, which had other code.
    for place in (empty.root / "src/owned").rglob("*"):
        if place.name.startswith(("linear.py", "adam.py")):
            text = place.read_text()
            place.write_text(text.replace("\ndef ", "\nEARLIER = True\n\n\ndef ", 1))
    steps = (
        ("update", "--no-trial"),
        ("undo",),
        ("update", "--no-trial"),
        ("add", "Bias", "--into", "src/owned", "--no-trial"),
        ("undo",),
    )
    assert _survives(server, empty, steps, tmp_path, KILLS) == 3


def test_a_kill_where_hundreds_of_files_are_made_leaves_one_whole_tree(
    server: Server, tmp_path: Path
):
    """All functions of the library, from nothing."""
    library = ProjectFolder(tmp_path / "library")
    specs = "scaffold/mlax_scaffold/specs/functional"
    shutil.copytree(REPOSITORY / specs, library.root / specs)
    shutil.copy(REPOSITORY / "pyproject.toml", library.root)
    steps = (
        ("generate", "--no-trial"),
        ("rename", "functional.softmax", "normalized_exp", "--no-trial"),
        ("undo",),
    )
    assert _survives(server, library, steps, tmp_path, max(2, KILLS // 5)) == 3


def _survives(
    server: Server,
    before: ProjectFolder,
    steps: Sequence[Sequence[str]],
    folder: Path,
    kills: int,
) -> int:
    """Kill the commands so many times, at moments of all their time; how many trees there may be."""
    template = folder / "template"
    shutil.copytree(before.root, template)
    project = ProjectFolder(folder / "tried")

    def reset() -> None:
        shutil.rmtree(project.root, ignore_errors=True)
        shutil.copytree(template, project.root)

    allowed = [before.files()]
    seconds = 0.0
    for command in steps:
        begin = time.monotonic()
        [(status, output)] = server.run(before.root, command)
        seconds += time.monotonic() - begin
        assert status == 0, output
        if before.files() not in allowed:
            allowed.append(before.files())

    seed = random.randrange(2**32)
    chance = random.Random(seed)
    seen = set()
    for kill in range(kills):
        reset()
        process = _opened(server.start([project.root], [steps]))
        # One in each part of the time, so that few kills are not all in the first step.
        time.sleep(seconds * (kill + chance.random()) / kills)
        _kill(process)
        [(status, _)] = server.end()
        recover(project.root)
        assert project.files() in allowed, f"seed {seed}, kill {kill}"
        seen.add((allowed.index(project.files()), status))
    # Few of them may all fall into one part of the time.
    assert len(seen) > 1 or kills < 20
    _wait_until(lambda: not os.listdir(server.temporary))
    return len(allowed)


def _opened(pids: Sequence[int]) -> int:
    """A descriptor of the one process, which is never taken for a later one of its number."""
    [pid] = pids
    return os.pidfd_open(pid)


def _kill(process: int) -> None:
    """End a process, unless it has ended by itself: how long its commands take varies."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(process, signal.SIGKILL)
    os.close(process)


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_kill_during_a_trial_ends_it_and_leaves_nothing(
    server: Server, project: ProjectFolder
):
    """The process that imports and traces is gone, too, and its folder."""
    process = _opened(server.start([project.root], [[["generate"]]]))
    _wait_until(lambda: _trials(project) != [])
    _kill(process)
    server.end()
    _wait_until(lambda: not _trials(project))
    _wait_until(lambda: not os.listdir(server.temporary))
    assert not (project.root / "mynet").exists()


def _trials(project: ProjectFolder) -> list[str]:
    """The processes that try a project out."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = place.read_bytes()
        except OSError:
            continue
        if b"importlib" in text and str(project.root).encode() in text:
            found.append(place.parent.name)
    return found


def test_twenty_runs_at_once(server: Server, generated: ProjectFolder):
    names = [f"probe_{number}" for number in range(6)]
    each = [["new-function", name] for name in names]
    each += [["generate", "--no-trial"]] * 7 + [["check"]] * 5 + [["list"]] * 2
    commands = [[command] for command in each]
    server.start([generated.root] * 20, commands)
    for (status, done), [command] in zip(server.end(), commands, strict=True):
        assert status == 0
        assert done is not None
        assert done[0][0] == 0, (command, done)
    assert "all clean" in generated.ok("check", "--render")
    for name in names:
        assert (generated.root / f"mynet/functional/_{name}.py").exists()
    titles = [change["title"] for change in generated.json("history")["changes"]]
    assert sorted(titles)[-6:] == [f"new-function {name}" for name in names]
    assert os.listdir(server.temporary) == []


def test_a_disk_that_is_full_at_any_point_changes_nothing(
    server: Server, generated: ProjectFolder
):
    """No file may be longer than so many bytes, so that writing fails ever later."""
    generated.write("train.py", USER)
    before = generated.files()
    commands = [
        ["rename", "Scale", "Gain", "--no-trial"],
        ["remove", "Twice", "--no-trial"],
        ["new-layer", "Probe"],
        ["undo"],
    ]
    failed = 0
    for limit in (0, 900, 8000):
        for command in commands:
            [(status, output)] = server.run(generated.root, command, limit=limit)
            if status == 0:
                assert generated.files() != before
                server.run(generated.root, ["undo"])
                if command == ["undo"]:
                    pytest.fail("the first generation was written back in few bytes")
            else:
                assert status == 3, output
                assert "fault of" not in output, output
                failed += 1
            assert generated.files() == before, (limit, command)
    assert failed > 8
    assert os.listdir(server.temporary) == []


READING = (
    *(("check",), ("check", "--render"), ("list",), ("history",), ("doctor",)),
    ("generate", "--dry-run"),
    ("rename", "Scale", "Gain", "--dry-run"),
    ("update", "--dry-run", "--no-trial"),
)
WRITING = {
    "init": ("init", "--package", "mynet"),
    "generate": ("generate", "--no-trial"),
    "fix": ("generate", "--fix", "--no-trial"),
    "new-layer": ("new-layer", "Probe"),
    "new-function": ("new-function", "probe"),
    "new-optimizer": ("new-optimizer", "Probe"),
    "rename": ("rename", "Scale", "Gain", "--no-trial"),
    "move": ("move", "Scale", "block", "--no-trial"),
    "remove": ("remove", "Twice", "--no-trial"),
    "undo": ("undo",),
    "absorb": ("absorb", "Scale", "--no-trial"),
    "add": ("add", "Bias", "--into", "src/owned", "--no-trial"),
    "update": ("update", "--no-trial"),
    "edit": ("update", "--edit", "--no-trial"),
}


@pytest.fixture(scope="module")
def owning(
    tmp_path_factory: pytest.TempPathFactory,
) -> ProjectFolder:
    """A project with something to do for every command that writes."""
    project = ProjectFolder(tmp_path_factory.mktemp("owning"))
    project.write("pyproject.toml", PYPROJECT)
    project.write("specs/nn/scale.py", SCALE)
    project.write("specs/nn/twice.py", TWICE)
    before = os.getcwd()
    os.chdir(project.root)
    try:
        project.ok("add", "Linear", "--into", "src/owned", "--no-trial")
        project.ok("generate")
    finally:
        os.chdir(before)
    # As if an earlier version had brought it.
    for place in (project.root / "src/owned").rglob("linear.py*"):
        text = place.read_text()
        place.write_text(text.replace("\ndef ", "\nEARLIER = True\n\n\ndef ", 1))
    return project


def sealed(owning: ProjectFolder, root: Path, folder: str) -> ProjectFolder:
    """A copy, in which a folder and all in it cannot be written."""
    shutil.copytree(owning.root, root)
    for place in [root / folder, *(root / folder).rglob("*")]:
        place.chmod(0o555 if place.is_dir() else 0o444)
    return ProjectFolder(root)


def everything(project: ProjectFolder) -> dict[str, bytes]:
    """Every file, also what the program keeps for itself, but for who held it last."""
    return {
        str(place.relative_to(project.root)): place.read_bytes()
        for place in sorted(project.root.rglob("*"))
        if place.is_file() and place.name != "mutex"
    }


def test_a_project_that_cannot_be_written_can_be_read(
    server: Server, owning: ProjectFolder, tmp_path: Path
):
    """And no command that writes begins."""
    project = sealed(owning, tmp_path / "sealed", ".")
    before = everything(project)
    commands = [*READING, *WRITING.values()]
    done = server.run(project.root, *commands, obey=True)
    for command, (status, output) in zip(commands, done, strict=True):
        if command in READING:
            assert status == 0, (command, output)
        else:
            assert status == 3, (command, output)
            assert "Error: cannot lock the project: " in output
            assert "permission was denied; make it writable and run again" in output
    assert everything(project) == before
    assert os.listdir(server.temporary) == []


@pytest.mark.parametrize(
    ("folder", "commands"),
    [
        ("specs/nn", ["new-layer", "rename", "move", "remove", "absorb"]),
        ("mynet/nn", ["generate", "fix", "new-layer", "rename", "undo"]),
        ("docs/reference", ["new-function", "new-optimizer"]),
        ("src/owned/nn", ["add", "update", "edit"]),
    ],
)
def test_a_folder_that_cannot_be_written_stops_the_whole(
    server: Server,
    owning: ProjectFolder,
    tmp_path: Path,
    folder: str,
    commands: Sequence[str],
):
    """Nothing is written elsewhere, nothing is left behind, and the next run has nothing to complete."""
    project = sealed(owning, tmp_path / "sealed", folder)
    edits = {"absorb": ("mynet/nn/scale.py", "return x", "return 2 * x")}
    edits |= dict.fromkeys(
        ("generate", "fix"), ("specs/nn/scale.py", "return x", "return 2 * x")
    )
    for name in commands:
        path, old, new = edits.get(name, ("", "", ""))
        text = project.text(path) if path else ""
        if path:
            assert old in text
            (project.root / path).write_text(text.replace(old, new))
        before = everything(project)
        [(status, output)] = server.run(project.root, WRITING[name], obey=True)
        assert status == 3, (name, output)
        assert folder in output, (name, output)
        assert "permission was denied; make it writable and run again" in output
        assert "Nothing was changed" in output, (name, output)
        assert everything(project) == before, name
        assert os.listdir(server.temporary) == [], name
        if path:
            (project.root / path).write_text(text)


COMMANDS: Mapping[str, tuple[str, ...]] = {
    "generate": ("generate", "--force"),
    "rename": ("rename", "Scale", "Gain", "--no-trial"),
    "remove": ("remove", "Twice", "--no-trial", "--force"),
    "undo": ("undo", "--force"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("folder", ["mynet", "specs", "docs", "mynet/nn"])
def test_a_link_is_not_followed_out_of_the_project(
    generated: ProjectFolder, tmp_path: Path, folder: str, command: str
):
    outside = tmp_path / "outside"
    os.rename(generated.root / folder, outside)
    (generated.root / folder).symlink_to(outside)
    generated.write("specs/nn/scale.py", generated.text("specs/nn/scale.py") + "\n\n")
    before = ProjectFolder(outside).files()
    result = generated.run(*COMMANDS[command])
    assert ProjectFolder(outside).files() == before
    if folder != "specs" or command in ("rename", "remove"):
        assert result.exit_code == 3, result.output
        assert "outside the project's root" in result.stderr
