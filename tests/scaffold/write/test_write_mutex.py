"""One run at a time, across processes and threads."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from mlax_scaffold.errors import ConflictError
from mlax_scaffold.write import STATE_DIR, mutex, recover

HOLDER = """
import sys
from mlax_scaffold.write import mutex

with mutex(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the mutex of `tmp_path`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def _enter(root, **options):
    with mutex(root, **options):
        pass


def test_a_second_process_fails_at_once_and_names_the_first(holder, tmp_path):
    start = time.monotonic()
    with pytest.raises(ConflictError, match=rf"\(process {holder.pid}\)"):
        _enter(tmp_path)
    assert time.monotonic() - start < 0.5


def test_a_second_process_waits_as_long_as_it_is_told(holder, tmp_path):
    with pytest.raises(ConflictError):
        _enter(tmp_path, wait_seconds=0.1)
    threading.Timer(0.1, holder.stdin.write, ["\n"]).start()
    threading.Timer(0.15, holder.stdin.flush).start()
    _enter(tmp_path, wait_seconds=20)


def test_a_kill_leaves_nothing_stale(holder, tmp_path):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    _enter(tmp_path)


def test_a_commit_beside_another_run_is_refused(holder, project):
    before = project.snapshot()
    with pytest.raises(ConflictError, match="another mlax-scaffold is at work"):
        project.generate()
    assert project.snapshot() == before


def test_what_another_run_is_staging_is_not_cleared(holder, project):
    project.edit(f"{STATE_DIR}/staging/0.new", "being written")
    assert recover(project.root) is None
    assert project.staged()


def test_nobody_reads_while_another_run_moves_the_tree(holder, project, monkeypatch):
    monkeypatch.setattr("mlax_scaffold.write.operations._MOVE_SECONDS", 0.1)
    project.edit(f"{STATE_DIR}/journal", "{}")
    with pytest.raises(ConflictError, match=f"process {holder.pid}"):
        recover(project.root)


def test_it_may_be_nested_within_a_thread(project):
    with mutex(project.root):
        project.generate()
        with mutex(project.root):
            pass
        # The inner one does not release the outer one.
        errors = []
        thread = threading.Thread(target=_collect, args=(project.root, errors))
        thread.start()
        thread.join()
    assert [type(error) for error in errors] == [ConflictError]
    _enter(project.root)


def _collect(root, errors):
    try:
        _enter(root)
    except ConflictError as error:
        errors.append(error)


def test_it_is_released_after_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="inside"), mutex(tmp_path):
        raise RuntimeError("inside")
    _enter(tmp_path)


def test_two_runs_do_not_mix(project):
    """Two processes generate different trees over and over; the last one wins whole."""
    script = """
import sys
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.write import LockFile, commit, make_plan, mutex

root, name = sys.argv[1:]
for _ in range(8):
    with mutex(root, wait_seconds=30):
        outputs = [Rendered(f"gen/{i}.txt", name, "") for i in range(20)]
        plan = make_plan(root, outputs, LockFile.read(root), {}, name, folders=["gen"])
        commit(root, plan, title=name)
        texts = {open(f"{root}/gen/{i}.txt").read() for i in range(20)}
        assert texts == {name}, texts
"""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(project.root), name],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        for name in ("one", "two")
    ]
    assert [run.wait() for run in runs] == [0, 0]
    texts = {project.text(f"gen/{i}.txt") for i in range(20)}
    assert texts == {project.lock().fingerprint}
