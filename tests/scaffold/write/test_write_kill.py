"""Kills at random moments, by the operating system."""

import os
import random
import signal
import subprocess
import sys
import time

from mlax_scaffold.write import LOCK_NAME, LockFile, digest, recover

KILLS = 30
FILES = 60

# Each tree has files that only it has, in a directory that only it has.
WRITER = """
import itertools, sys
from mlax_scaffold.model.project import Rendered
from mlax_scaffold.write import LockFile, commit, make_plan, recover

root, files = sys.argv[1], int(sys.argv[2])
print("ready", flush=True)
for number in itertools.count():
    name = f"tree{(LockFile.read(root).fingerprint == 'tree0') + 0}"
    recover(root)
    outputs = [Rendered(f"gen/{i % 7}/{i}.txt", name * i, "") for i in range(files - 5)]
    outputs += [Rendered(f"{name}/{i}.txt", name, "") for i in range(5)]
    plan = make_plan(root, outputs, LockFile.read(root), {}, name)
    commit(root, plan, title=name)
"""


def _expected(name):
    files = {f"gen/{i % 7}/{i}.txt": name * i for i in range(FILES - 5)}
    return files | {f"{name}/{i}.txt": name for i in range(5)}


def test_a_kill_at_any_moment_leaves_one_whole_tree(project):
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    unfinished, seen = 0, set()
    for kill in range(KILLS):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(project.root), str(FILES)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.12))
        assert process.poll() is None, "the writer ended by itself"
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

        unfinished += project.staged()
        recover(project.root)
        assert not project.staged()
        tree = project.snapshot()
        lock = LockFile.read(project.root)
        assert not lock.damaged
        if not lock.fingerprint:
            assert tree == {}
            continue
        context = f"seed {seed}, kill {kill}"
        files = {
            path: data.decode()
            for path, data in tree.items()
            if data is not None and path != LOCK_NAME
        }
        assert files == _expected(lock.fingerprint), context
        directories = {path for path, data in tree.items() if data is None}
        assert directories == {
            "gen",
            lock.fingerprint,
            *(f"gen/{i}" for i in range(7)),
        }, context
        assert {p: r.sha256 for p, r in lock.outputs.items()} == {
            path: digest(text) for path, text in files.items()
        }, context
        seen.add(lock.fingerprint)
    assert seen == {"tree0", "tree1"}
    assert unfinished > 3
