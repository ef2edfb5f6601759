"""Programs in processes of their own: begun anew, or as a copy of one that has imported jax."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from cli_projects import cold

from mlax_scaffold.project.processes import Program, warm

LOOK = """
import json, os, sys

at_first = "jax" in sys.modules
import jax
import beside

beside.seen += 1
print("said", json.dumps([
    at_first, sys.argv[1:], os.getcwd(), beside.__file__, beside.seen, sys.stdin.read(),
    os.environ["PROBE"], jax.config.jax_platforms, sys.dont_write_bytecode,
]))
print("and told", file=sys.stderr)
sys.exit(len(sys.argv))
"""
WAYS = {"anew": nullcontext, "as a copy": warm}


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_warm():
    with cold():
        yield


@pytest.fixture(scope="module", params=WAYS)
def way(request: pytest.FixtureRequest, _nothing_is_warm: None):
    with WAYS[request.param]():
        yield request.param


@pytest.fixture
def output(tmp_path: Path) -> str:
    return str(tmp_path / "output")


def test_a_program_has_all_that_it_is_given(way: str, tmp_path: Path, output: str):
    """And nothing of the one before."""
    for folder in ("first", "last"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "beside.py").write_text("seen = 0\n")
    environment = {
        "PROBE": "ä",
        "JAX_PLATFORMS": "cpu",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
    }
    folders = [str(tmp_path / "first")], [str(tmp_path / "last")]
    program = Program(LOOK, ["ü", 1], str(tmp_path), *folders, environment)
    for _ in range(2):
        assert program.run(output) == 2
        said = Path(output).read_text(encoding="utf-8")
        assert "and told\n" in said
        [line] = [line for line in said.splitlines() if line.startswith("said ")]
        assert json.loads(line.removeprefix("said ")) == [
            way == "as a copy",
            ['["\\u00fc", 1]'],
            str(tmp_path),
            str(tmp_path / "first" / "beside.py"),
            1,
            "",
            "ä",
            "cpu",
            True,
        ]


def test_how_it_ends(way: str, tmp_path: Path, output: str):
    """What takes too long is ended, and so is what it has started; others run after it."""

    def run(text: str, longest: float | None = None) -> int:
        return Program(text, None, str(tmp_path)).run(output, longest)

    with pytest.raises(TimeoutError):
        run("import time; print(1, flush=True); time.sleep(60)", 0.5)
    assert run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)") == -9
    assert run("raise ValueError('a fault')") == 1
    assert "ValueError: a fault" in Path(output).read_text()
    assert run("pass") == 0


def test_without_the_process_to_copy_a_program_begins_anew(tmp_path: Path, output: str):
    with warm():
        kill = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
        assert Program(kill, None, str(tmp_path)).run(output) != 0
        assert Program("print('there')", None, str(tmp_path)).run(output) == 0
        assert Path(output).read_text() == "there\n"


def test_a_block_within_a_block_starts_nothing_anew(tmp_path: Path, output: str):
    """But where the one that runs is of the other kind, or has ended."""

    def parent() -> int:
        tell = Program("import os; print(os.getppid())", None, str(tmp_path))
        assert tell.run(output) == 0
        return int(Path(output).read_text())

    with warm():
        outer = parent()
        with warm():
            assert parent() == outer
        assert parent() == outer
        with warm(library=True):
            assert parent() not in {outer, os.getpid()}
        os.kill(outer, signal.SIGKILL)
        wait_until(lambda: not runs(outer))
        assert parent() == os.getpid()
        with warm():
            assert parent() not in {outer, os.getpid()}


WAIT = '''
import sys
from mlax_scaffold.project.processes import Program, warm

text = """
import json, os, sys, time

copy = fork()
if copy:
    with open(json.loads(sys.argv[1]), "w") as file:
        print(os.getpid(), os.getppid(), copy, file=file)
time.sleep(600)
"""
with warm():
    Program(text, sys.argv[1], ".").run()
'''


def test_all_of_them_end_with_the_one_that_waits(tmp_path: Path):
    """The copy that a program makes of itself, too."""
    told = tmp_path / "pids"
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen([sys.executable, "-c", WAIT, str(told)], env=environment)
    wait_until(lambda: told.exists() and "\n" in told.read_text())
    pids = [int(pid) for pid in told.read_text().split()]
    assert process.pid not in pids
    process.kill()
    process.wait(30)
    wait_until(lambda: not any(map(runs, pids)))


def runs(pid: int) -> bool:
    """Whether a process is there, and not only to be waited for."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"
    return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("way", ["as a copy"], indirect=True)
def test_an_interruption_is_that_of_the_program(way: str, tmp_path: Path, output: str):
    """The one that is copied goes on."""
    interrupted = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    program = Program(interrupted, None, str(tmp_path))
    assert program.run(output) in (1, 130, -signal.SIGINT)
    assert "KeyboardInterrupt" in Path(output).read_text()
    both = "import os, signal; os.kill(os.getppid(), signal.SIGINT); print('on')"
    for _ in range(2):
        assert Program(both, None, str(tmp_path)).run(output) == 0
