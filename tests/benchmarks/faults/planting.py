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
_CAUGHT = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
_BROKEN = 70
"""What the child exits with where no test had its say."""


class NotPlanted(Exception):
    """A fault is not where it should be."""


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
    """What the item's tests say of a fault, or of none, and how long they took.

    Raises:
        NotPlanted: where they say nothing of it.
    """
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os._exit(_run(item, fault, seconds))
    _, status = os.waitpid(child, 0)
    took = time.monotonic() - start
    if os.WIFSIGNALED(status):
        slow = os.WTERMSIG(status) == signal.SIGALRM
        return ("too slow" if slow else "caught"), took
    code = os.WEXITSTATUS(status)
    if code == pytest.ExitCode.OK:
        return "survived", took
    if code in _CAUGHT:
        return "caught", took
    raise NotPlanted(f"{fault}: the tests of {item.name} ended with {code}")


def _run(item: Item, fault: Fault | None, seconds: int) -> int:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    try:
        if fault is not None:
            plant(sys.modules[item.module], planted(item.source, fault.index, fault.by))
        from mlax_scaffold.testing import picks

        picks.SECONDS = 0.0  # a smaller case is not asked for
        arguments = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        return int(pytest.main([*arguments, str(item.test)]))
    except BaseException:
        return _BROKEN


def plant(module: types.ModuleType, tree: ast.Module) -> None:
    """Give the functions of a module the code that they have in the tree.

    Raises:
        NotPlanted: where a function is not found; the tests would judge the code as it is.
    """
    name = getattr(module, "__file__", None) or module.__name__
    code = compile(tree, name, "exec", dont_inherit=True)
    _replace(vars(module), code, module.__name__)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in vars(module):
            _set_defaults(_function(vars(module)[node.name]), node.args)


def _replace(names: dict[str, Any], code: types.CodeType, module: str) -> None:
    for part in code.co_consts:
        if not isinstance(part, types.CodeType) or part.co_name not in names:
            continue
        value = names[part.co_name]
        if inspect.isclass(value):
            if value.__module__ == module:
                _replace(dict(vars(value)), part, module)
            continue
        function = _function(value)
        if function is None or not _same_origin(function.__code__, part):
            raise NotPlanted(f"{module}: {part.co_name} is {value!r}")
        function.__code__ = part


def _set_defaults(function: types.FunctionType | None, args: ast.arguments) -> None:
    """Give a function the defaults of the tree that are constants; others stay as they are."""
    if function is None:
        return
    own: list[Any] = list(function.__defaults__ or ())
    for i, node in enumerate(args.defaults):
        if isinstance(node, ast.Constant):
            own[i] = node.value
    function.__defaults__ = tuple(own) or None
    named: dict[str, Any] = dict(function.__kwdefaults__ or {})
    for arg, node in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if isinstance(node, ast.Constant):
            named[arg.arg] = node.value
    function.__kwdefaults__ = named or None


_WRAPPED = ("__wrapped__", "__func__", "fget", "func", "fun")
"""Where decorators keep the function that they got."""


def _function(value: Any) -> types.FunctionType | None:
    """The function that a decorated one is made of."""
    for name in _WRAPPED:
        inner = getattr(value, name, None)
        if inner is not None and inner is not value:
            return _function(inner)
    return value if isinstance(value, types.FunctionType) else None


def _same_origin(code: types.CodeType, other: types.CodeType) -> bool:
    """Whether one stands where the other does."""
    own, others = ((c.co_name, c.co_firstlineno, c.co_freevars) for c in (code, other))
    return own == others
