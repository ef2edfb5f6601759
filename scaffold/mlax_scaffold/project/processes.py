"""Runs Python programs in processes of their own, which end with the one that waits for them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A program's folders go before all others; the generator itself goes last, where it is found only
# if it is not installed. Where the process that started it is gone, nobody waits for it any more,
# nor for a copy that the program makes of itself.
_BOOT = """
import json, os, sys, threading

def boot(first, last, alive):
    sys.path[:0] = first
    sys.path += last
    boot.alive = alive
    if alive is not None:
        end = lambda: (os.read(alive, 1), os._exit(1))
        threading.Thread(target=end, daemon=True).start()

def fork():
    child = os.fork()
    if not child:
        boot([], [], boot.alive)
    return child
"""

_ONCE = "boot(*json.loads(sys.argv.pop(1)))\n"

# jax has no threads before it computes something, so that its process can be forked. Nothing of a
# project is imported before.
_SERVE = """
import gc, importlib, random, signal, tempfile

alive, answers = map(int, sys.argv[1:3])
boot(*json.loads(sys.argv[3]), None)
for name in json.loads(sys.argv[4]):
    try:
        importlib.import_module(name)
    except ImportError:
        pass
gc.freeze()
interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
while line := sys.stdin.readline():
    child = os.fork()
    if not child:
        break
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        os.write(answers, f"{status}\\n".encode())
    except OSError:
        sys.exit()
else:
    sys.exit()
signal.signal(signal.SIGINT, interrupt)
os.close(answers)
task = json.loads(line)
if task["longest"]:
    signal.setitimer(signal.ITIMER_REAL, task["longest"])
sys.stdin = open(os.devnull)
os.dup2(sys.stdin.fileno(), 0)
if task["output"]:
    sys.stdout = sys.stderr = open(task["output"], "w", encoding="utf-8", errors="replace")
    for number in (1, 2):
        os.dup2(sys.stdout.fileno(), number)
os.chdir(task["folder"])
os.environ.clear()
os.environ.update(task["environment"])
sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
if "jax" in sys.modules:
    sys.modules["jax"].config.update("jax_platforms", os.environ.get("JAX_PLATFORMS") or None)
random.seed()
tempfile.tempdir = None
importlib.invalidate_caches()
boot(task["first"], task["last"], alive)
sys.argv[1:] = [task["argument"]]
exec(compile(task["text"], "<program>", "exec"))
"""


@dataclass(frozen=True)
class Program:
    """A program, and where it runs."""

    text: str
    """Its source. It can call `fork()` for a copy of its process, which ends with this one, too."""
    argument: object
    """Its argument, which it gets as JSON."""
    folder: str
    first: Sequence[str] = ()
    """Folders to import from before all others."""
    last: Sequence[str] = ()
    """Folders to import from after all others."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What is not as in this process."""

    def run(self, output: str = "", longest: float | None = None) -> int:
        """Run it, with what it prints in the file `output` if there is one; returns its status.

        Raises:
            TimeoutError: it took longer than `longest` seconds, and was ended.
        """
        warm = _warm.get()
        if warm is None or warm.process.poll() is not None:
            return self._once(output, longest)
        return warm.run(self, output, longest)

    def _once(self, output: str, longest: float | None) -> int:
        text = f"{_BOOT}\n{_ONCE}\n{self.text}"
        with _alive() as alive, open(output or os.devnull, "wb") as file:
            boot = json.dumps([list(self.first), list(self.last), alive])
            said = file if output else None
            try:
                done = subprocess.run(
                    [sys.executable, "-c", text, boot, json.dumps(self.argument)],
                    cwd=self.folder,
                    env=self.variables,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    check=False,
                    timeout=longest,
                    pass_fds=() if alive is None else (alive,),
                )
            except subprocess.TimeoutExpired as error:
                raise TimeoutError from error
        return done.returncode

    @property
    def variables(self) -> dict[str, str]:
        """The environment of the process. A folder is not imported from for being the current one."""
        return {**os.environ, "PYTHONSAFEPATH": "1", **self.environment}


@dataclass(frozen=True)
class Warm:
    """A process that has imported what takes longest, and runs each program in a copy of itself."""

    process: subprocess.Popen[str]
    answers: int
    library: bool

    def run(self, program: Program, output: str, longest: float | None) -> int:
        """As `Program.run`."""
        task = {
            "text": program.text,
            "argument": json.dumps(program.argument),
            "folder": program.folder,
            "first": list(program.first),
            "last": list(program.last),
            "environment": program.variables,
            "output": output,
            "longest": longest,
        }
        stdin = self.process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(task) + "\n")
            stdin.flush()
            answer = os.read(self.answers, 16)
        except BrokenPipeError:
            answer = b""
        if not answer:
            return self.process.wait() or 1
        status = int(answer)
        if status == -signal.SIGALRM:
            raise TimeoutError
        return status


_FIRST = ("jax", "jax.numpy", "pytest", "hypothesis")
"""What every test imports, and no project has."""

_TESTING = "mlax_scaffold.testing.kinds"


_warm: ContextVar[Warm | None] = ContextVar("warm", default=None)


@contextmanager
def warm(*, library: bool = False) -> Iterator[None]:
    """Programs that are run within the block need not import what takes longest.

    Where processes cannot be forked nothing is gained, and a block within a block starts nothing
    anew. Of the library the generator is a part, so that its programs import another copy of it.
    """
    if not hasattr(os, "fork") or _is_warm(library):
        yield
        return
    reading, writing = os.pipe()
    folders = json.dumps([[], [] if library else [os.path.dirname(PACKAGE)]])
    names = json.dumps(_FIRST if library else [*_FIRST, _TESTING])
    with _alive() as alive:
        arguments = [str(alive), str(writing), folders, names]
        process = subprocess.Popen(
            [sys.executable, "-c", _BOOT + _SERVE, *arguments],
            env={**os.environ, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            encoding="utf-8",
            pass_fds=(writing, *([] if alive is None else [alive])),
        )
        os.close(writing)
        token = _warm.set(Warm(process, reading, library))
        try:
            yield
        finally:
            _warm.reset(token)
            process.kill()
            process.communicate()
            os.close(reading)


def _is_warm(library: bool) -> bool:
    running = _warm.get()
    if running is None or running.process.poll() is not None:
        return False
    return running.library == library


@contextmanager
def _alive() -> Iterator[int | None]:
    """A pipe to hand to a process, whose end is that of this one."""
    if os.name == "nt":
        yield None
        return
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)
