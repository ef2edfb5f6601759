"""Work that copies of a process share: the results, the errors, and what is left of the copies.

The copies are of a process without jax, as the program is one where it reads and renders.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

START = """
import json, os, signal, sys
from mlax_scaffold import parallel
from mlax_scaffold.parallel import divided

parallel._processors = lambda: 3
here = os.getpid()
inputs = list(range(100))
"""


def run(program: str) -> str:
    """What a program prints."""
    text = START + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_results_are_in_the_order_of_the_inputs():
    run("""
    found = divided(lambda share: [(x, os.getpid()) for x in share], inputs)
    assert [x for x, _ in found] == inputs
    assert len({pid for _, pid in found}) == 3
    """)


def test_few_inputs_are_worth_no_copy():
    run("""
    found = divided(lambda share: [os.getpid() for x in share], inputs[:31])
    assert set(found) == {here}
    assert divided(lambda share: [1 / x for x in share], []) == []
    """)


def test_a_process_with_jax_is_not_copied():
    run("""
    import importlib

    importlib.reload(parallel)
    os.sched_getaffinity = lambda pid: {0, 1}
    work = lambda share: [os.getpid() for x in share]
    assert len(set(parallel.divided(work, inputs))) == 2
    sys.modules["jax"] = None
    assert set(parallel.divided(work, inputs)) == {here}
    """)


def test_the_error_is_that_of_the_first_input_that_has_one():
    said = run("""
    def work(share):
        for x in share:
            if x in (7, 51, 90):
                raise ValueError(x)
        return share

    try:
        divided(work, inputs)
    except ValueError as error:
        print(error)
    """)
    assert said == "7\n"


@pytest.mark.parametrize(
    "failure",
    [
        "os.kill(os.getpid(), signal.SIGKILL)",
        "raise ValueError",
        "sys.exit(3)",
        "return [lambda: x for x in share]",
    ],
    ids=["killed", "raised", "exited", "no data"],
)
def test_what_a_copy_does_not_do_is_done_here(failure):
    run(f"""
    def work(share):
        if os.getpid() != here and 1 in share:
            {failure}
        return [x + 1 for x in share]

    assert divided(work, inputs) == [x + 1 for x in inputs]
    """)


def test_nothing_is_left_of_the_copies():
    run("""
    import time

    def work(share):
        if os.getpid() == here:
            raise KeyboardInterrupt
        time.sleep(60)

    files = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    try:
        divided(work, inputs)
    except KeyboardInterrupt:
        pass
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
    else:
        raise AssertionError("a copy is left")
    assert not files or os.listdir("/proc/self/fd") == files
    """)


def test_a_copy_holds_no_file_of_the_process():
    """A lock would outlive who holds it."""
    run("""
    file = open(os.devnull)
    held = file.fileno()

    def is_open():
        try:
            os.fstat(held)
        except OSError:
            return False
        return True

    found = divided(lambda share: [(os.getpid(), is_open()) for x in share], inputs)
    assert all(there == (pid == here) for pid, there in found)
    file.close()
    """)


def test_specs_are_read_and_rendered_as_by_one_process():
    said = run("""
    import hashlib
    from pathlib import Path

    from mlax_scaffold.model.project import Project
    from mlax_scaffold.reader import kept
    from mlax_scaffold.reader.files import LIBRARY_SPECS, find_specs
    from mlax_scaffold.reader.library import read_library
    from mlax_scaffold.render import render

    specs = find_specs(LIBRARY_SPECS, LIBRARY_SPECS.name)
    own = tuple(f for f in specs if f.section == "functional")[:48]
    project = Project("mynet", "specs", "mynet", "tests", "docs")

    def made():
        kept._readings.cache_clear()
        files = render(read_library(own, specs), project)
        return [(f.path, hashlib.sha256(f.text.encode()).hexdigest()) for f in files]

    several = made()
    parallel._processors = lambda: 1
    assert made() == several
    print(len(several))
    """)
    assert int(said) > 100
