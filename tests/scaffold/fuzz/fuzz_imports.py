"""Imports generated modules in a process of its own, and tells what ran.

Two judges know nothing of the list that the generator keeps: what Python itself announces (audit events), and
every function that is called from the top level of a module or a class (a profiler).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SECONDS = 3
"""Seconds of the processor for one module; arithmetic cannot be interrupted, but the process be ended."""
TRIPWIRE = "tripwire"
_MARK = "found: "

_QUIET = {"object.__getattr__", "sys._getframe", "import", "marshal.loads"}
_FROM = (
    *("importlib", "typing.py", "enum.py", "dataclasses.py", "abc.py", "collections"),
    *("jax/_src/nn/initializers.py", "jax/_src/deprecations.py", "mlax/initializers/"),
    *("mlax/_core/static.py", "mlax/_core/scopes.py"),
    *("jax/_src/util.py", "functools.py"),
    "mlax/graph/_part.py",  # notes what the classes of modules define
    # Called by the garbage collector, whenever it runs.
    *("jax/_src/lib/__init__.py", "weakref.py"),
)
"""Files of functions that a generated module may call while it is imported."""
_BUILT_IN = {
    *(
        "__build_class__",
        "acos",
        "asin",
        "atan",
        "atan2",
        "ceil",
        "copysign",
        "cos",
        "cosh",
    ),
    *(
        "degrees",
        "exp",
        "expm1",
        "fabs",
        "floor",
        "gcd",
        "hypot",
        "isqrt",
        "log",
        "log10",
    ),
    *("log1p", "log2", "pow", "radians", "sin", "sinh", "sqrt", "tan", "tanh", "get"),
}


def imported(modules: Sequence[Sequence[tuple[str, str, str, str]]]) -> list[str]:
    """What went wrong with each group of modules; an empty string where nothing did.

    Args:
        modules: of each spec, its modules as (name, path, text, spec), in the order of their imports.
    """
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        given = Path(folder) / "modules.json"
        given.write_text(json.dumps(modules))
        # Tests look for their spec; nothing reads it before they run.
        for spec in {spec for group in modules for *_, spec in group}:
            place = Path(folder) / spec
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        found: list[str] = []
        while len(found) < len(modules):
            found += _some(given, len(found))
        left = {path.name for path in Path(folder).iterdir()}
    assert left <= {given.name, "specs"}, left
    return found


def _some(given: Path, start: int) -> list[str]:
    """What is said of the groups from a certain one on, up to the first that does not end."""
    done = subprocess.run(
        [sys.executable, __file__, str(given), str(start)],
        cwd=given.parent,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    marked = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    found = [json.loads(line.removeprefix(_MARK)) for line in marked]
    if done.returncode == -signal.SIGPROF:
        return [*found, f"more than {SECONDS} s"]
    assert done.returncode == 0, done.stderr
    return found


class _Judge:
    """Watches one file while it is imported."""

    def __init__(self) -> None:
        self.path = ""
        self.busy = False
        self.found: list[str] = []

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.path or self.busy:
            return
        self.busy = True
        try:
            self._audit(event, arguments, sys._getframe(1))
        finally:
            self.busy = False

    def _audit(
        self, event: str, arguments: tuple[Any, ...], frame: types.FrameType
    ) -> None:
        if TRIPWIRE in str(arguments)[:2000] and event not in ("compile", "exec"):
            self.found.append(f"{event} {arguments}")
        direct = frame.f_code.co_filename == self.path
        if direct and event not in _QUIET:
            self.found.append(f"{event} {str(arguments)[:100]}")

    def profile(self, frame: types.FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and self._top(frame):
            name = argument.__name__
            if name not in _BUILT_IN:
                self.found.append(f"{name} is called")
        elif event == "call" and frame.f_back is not None and self._top(frame.f_back):
            file = frame.f_code.co_filename
            own = file == self.path and frame.f_code.co_name[:1].isupper()
            # Those that are made of others are dataclasses.
            made = type(frame.f_locals.get("self")).__module__
            if (
                not own
                and not made.startswith("mlax.initializers.")
                and not any(part in file for part in _FROM)
            ):
                self.found.append(f"{file}:{frame.f_code.co_name} is called")

    def _top(self, frame: types.FrameType) -> bool:
        code = frame.f_code
        # Code of a module or of a class, and no function of it.
        return code.co_filename == self.path and not code.co_flags & 0x2


def _run(modules: list[tuple[str, str, str, str]], judge: _Judge) -> str:
    kept = {name: sys.modules.get(name) for name, *_ in modules}
    owners: list[tuple[Any, str, Any]] = []
    judge.found = []
    try:
        for name, file, text, _ in modules:
            path = os.path.abspath(file)
            module = types.ModuleType(name)
            module.__file__ = path
            sys.modules[name] = module
            package, _, stem = name.rpartition(".")
            owner = sys.modules.get(package)
            if owner is not None:
                owners.append((owner, stem, vars(owner).get(stem)))
                setattr(owner, stem, module)
            code = compile(text, path, "exec", dont_inherit=True)
            watched = not stem.startswith("test_")
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            judge.path = path
            sys.setprofile(judge.profile if watched else None)
            try:
                exec(code, vars(module))
            finally:
                sys.setprofile(None)
                judge.path = ""
                signal.setitimer(signal.ITIMER_PROF, 0)
            public = stem.removeprefix("_")
            if owner is not None and public != stem and public in vars(module):
                # A function, which its package exports.
                owners.append((owner, public, vars(owner).get(public)))
                setattr(owner, public, vars(module)[public])
    except BaseException as error:
        if not judge.found:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return f"import: {type(error).__name__}: {error} ({last.name}, {last.filename})"
    finally:
        for name, before in kept.items():
            sys.modules.pop(name, None)
            if before is not None:
                sys.modules[name] = before
        for owner, stem, before in reversed(owners):
            delattr(owner, stem)
            if before is not None:
                setattr(owner, stem, before)
    return "; ".join(judge.found[:3])


def main() -> None:
    """Import what a file says, and print what went wrong."""
    import mlax_scaffold.testing.kinds
    import mlax_scaffold.testing.optimizer
    import mlax_scaffold.testing.schedule  # noqa: F401

    judge = _Judge()
    sys.addaudithook(judge.audit)
    modules = json.loads(Path(sys.argv[1]).read_text())
    for group in modules[int(sys.argv[2]) :]:
        print(f"\n{_MARK}{json.dumps(_run(group, judge))}", flush=True)


if __name__ == "__main__":
    main()
