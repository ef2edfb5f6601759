"""What is made is imported, and its tests are run: half of them by a copy of the process, if it can be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from mlax_scaffold.project.proof_program import IMPORT_FAILED
from mlax_scaffold.project.staging import Outcome, Stage

SEVERAL = len(getattr(os, "sched_getaffinity", lambda _: "1")(0)) > 1
"""Whether there is a processor for a copy."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return Stage(str(tmp_path), (str(tmp_path),), tuple(p for p in sys.path if p))


def prove(stage: Stage, *bodies: str, begin: str = "") -> Outcome:
    """The outcome of tests with these bodies, each of which also tells its process."""
    told = os.path.join(stage.root, "told")
    begin = f"import os, sys\n{begin}\ntold = {told!r}\n"
    for number, body in enumerate(bodies):
        begin += (
            f"def test_{number}():\n"
            f"    open(told, 'a').write(f'{{os.getpid()}}\\n')\n    {body}\n"
        )
    Path(stage.root, "test_made.py").write_text(begin)
    return stage.prove([], ["test_made.py"])


def processes(stage: Stage) -> list[str]:
    return Path(stage.root, "told").read_text().split()


def test_two_processes_share_the_tests(stage: Stage):
    done = prove(stage, *["pass"] * 5)
    assert done.status == 0, done.output
    assert len(processes(stage)) == 5
    assert len(set(processes(stage))) == (2 if SEVERAL else 1)
    assert done.output.count(" passed") == (2 if SEVERAL else 1)


def test_a_process_with_threads_of_others_is_not_copied(stage: Stage):
    """Those of jax, which has computed something as the module was imported."""
    done = prove(stage, *["pass"] * 4)
    Path(stage.root, "told").unlink()
    Path(stage.root, "made.py").write_text(
        "import jax.numpy as jnp\nx = jnp.ones(3) + 1\n"
    )
    done = stage.prove(["made"], ["test_made.py"])
    assert done.status == 0, done.output
    assert len(set(processes(stage))) == 1


@pytest.mark.parametrize("wrong", range(3))
def test_a_failure_is_shown_whoever_ran_it(stage: Stage, wrong: int):
    bodies = ["assert 6 * 7 == 41" if n == wrong else "pass" for n in range(3)]
    done = prove(stage, *bodies)
    assert done.status == 1
    assert "assert (6 * 7) == 41" in done.output
    assert f"FAILED test_made.py::test_{wrong}" in done.output


def test_a_copy_that_is_killed_is_a_failure(stage: Stage):
    kill = "if len(sys.modules): os.kill(os.getpid(), 9)"
    assert prove(stage, "pass", kill).status != 0


def test_what_tests_warn_of_is_told_once(stage: Stage):
    warns = 'warnings.warn(SizesAlike("one and other\\nLook at both"))'
    begin = "import warnings\nfrom mlax_scaffold.testing.alike import SizesAlike"
    done = prove(stage, warns, "warnings.warn('else')", warns, begin=begin)
    assert done.status == 0, done.output
    assert done.warnings == ["one and other\nLook at both"]


def test_one_test_is_enough(stage: Stage):
    done = prove(stage, "pass")
    assert done.status == 0, done.output


def test_no_tests_are_no_success(stage: Stage):
    assert prove(stage).status == pytest.ExitCode.NO_TESTS_COLLECTED


def test_what_does_not_import_is_shown(stage: Stage):
    Path(stage.root, "made.py").write_text("import no_such_module\n")
    done = stage.prove(["made"], [])
    assert done.status == IMPORT_FAILED
    assert "No module named 'no_such_module'" in done.output
