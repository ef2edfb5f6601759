"""Runs an item's generated tests with a fault in its module, in a process of its own.

The parent has imported all that does not run a program of jax, and forks; the child puts the code of the
faulty functions in the place of the right one. So nothing is imported twice, and nothing is written.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import signal
import sys
import time
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.benchmarks.faults.mutations import Fault, planted

ROOT = Path(__file__).parents[3]
GENERATED = ROOT / "generated_layers"
TESTS = ROOT / "tests" / "generated"
Verdict = Literal["caught", "survived", "too slow"]
_FAILED, _SURVIVED, _SLOW = 1, 0, 3


@dataclass(frozen=True)
class Item:
    """A generated module, and the test of it."""

    name: str
    path: Path
    test: Path

    @property
    def source(self) -> str:
        """The text of the module."""
        return self.path.read_text(encoding="utf-8")

    @property
    def module(self) -> str:
        """The name of the module."""
        parts = self.path.relative_to(GENERATED).with_suffix("").parts
        return ".".join(parts)


def items() -> Iterator[Item]:
    """The items that have generated tests, by name: `nn/linear`."""
    for test in sorted(TESTS.glob("*/test_*.py")):
        section = test.parent.name
        stem = test.stem.removeprefix(f"test_{section}_")
        for name in (stem, f"_{stem}"):
            path = GENERATED / "mlax" / section / f"{name}.py"
            if path.exists():
                yield Item(f"{section}/{stem}", path, test)


def prepare() -> None:
    """Import what every test imports."""
    for name in (
        "jax",
        "hypothesis",
        "mlax",
        "mlax.graph",
        "mlax_scaffold.spec",
        "mlax_scaffold.testing.kinds",
    ):
        importlib.import_module(name)
    for item in items():
        importlib.import_module(item.module)


def verdict(item: Item, fault: Fault | None, seconds: int) -> tuple[Verdict, float]:
    """What the item's tests say of a fault, or of none, and how long they took."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(_run(item, fault, seconds))
    _, status = os.waitpid(child, 0)
    took = time.monotonic() - start
    if os.WIFSIGNALED(status):
        slow = os.WTERMSIG(status) == signal.SIGALRM
        return ("too slow" if slow else "caught"), took
    return ("survived" if os.WEXITSTATUS(status) == _SURVIVED else "caught"), took


def _run(item: Item, fault: Fault | None, seconds: int) -> int:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        if fault is not None:
            plant(sys.modules[item.module], planted(item.source, fault.index))
        from mlax_scaffold.testing import picks

        picks.SECONDS = 0.0  # a smaller case is not asked for
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        return int(pytest.main([*arguments, str(item.test)]))
    except BaseException:
        return _FAILED


def plant(module: types.ModuleType, tree: ast.Module) -> None:
    """Give the functions of a module the code that they have in the tree."""
    name = getattr(module, "__file__", None) or module.__name__
    code = compile(tree, name, "exec", dont_inherit=True)
    _replace(vars(module), code, module.__name__)


def _replace(names: dict[str, Any], code: types.CodeType, module: str) -> None:
    for part in code.co_consts:
        if not isinstance(part, types.CodeType) or part.co_name not in names:
            continue
        value = names[part.co_name]
        if inspect.isclass(value):
            if value.__module__ == module:
                _replace(dict(vars(value)), part, module)
        elif (function := _function(value)) is not None:
            function.__code__ = part


def _function(value: Any) -> types.FunctionType | None:
    """The function that a decorated one is made of."""
    while not isinstance(value, types.FunctionType):
        inner = getattr(value, "__wrapped__", None) or getattr(value, "fun", None)
        if inner is None:
            return None
        value = inner
    return value
