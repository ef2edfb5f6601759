"""The program that proves what was made, in a process of its own: it is imported, and its tests are run."""

from __future__ import annotations

IMPORT_FAILED = 70
"""The status where something cannot be imported; it is pytest's where it can."""

# Where there is a processor for it, a copy of the process runs every other test. Of a process
# with threads that Python did not start, such as those of jax once it has computed something,
# a copy would lack them.
PROGRAM = (
    f"""
import importlib, json, os, sys, threading, traceback

modules, tests, beside = json.loads(sys.argv[1])
try:
    for module in modules:
        importlib.import_module(module)
except Exception:
    traceback.print_exc(file=sys.stdout)
    sys.exit({IMPORT_FAILED})
if not tests:
    sys.exit()

import pytest

def can_be_copied():
    try:
        threads = len(os.listdir("/proc/self/task"))
        processors = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return False
    return processors > 1 and threads == threading.active_count()

class EveryOther:
    def __init__(self, first):
        self.first = first

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = items[self.first :: 2]

def run(plugins):
    return int(pytest.main(tests, plugins=plugins))

if not can_be_copied():
    sys.exit(run([]))
"""
    r"""
sys.stdout.flush()
copy = fork()
if not copy:
    status = 3
    try:
        with open(beside, "wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        status = run([EveryOther(1)])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)
statuses = [run([EveryOther(0)])]
statuses.append(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
if statuses[1] or not statuses[0]:
    with open(beside, encoding="utf-8", errors="replace") as file:
        print(file.read(), flush=True)
none = int(pytest.ExitCode.NO_TESTS_COLLECTED)
ran = [status for status in statuses if status != none]
sys.exit(next(filter(None, ran), 0) if ran else none)
"""
)
