"""What holds for all tests."""

from __future__ import annotations

import builtins
import functools
import gc
import os
import re
import signal
import sys
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from mlax_scaffold.testing.room import with_room

# Syntax trees and programs are made by the million, and few of them in cycles.
gc.set_threshold(50_000, 20, 20)

_FRAMES = 600
"""What a test, pytest, and what it reports to, may need."""

_PROGRAMS = 60_000
"""How many compiled programs are kept: some of five runs that have none in common."""

_LONG = (
    "test_docs_guides.py",
    "test_docs_reference.py",
    "test_freeze.py",
    "test_fuzz.py",
    "test_graph_distributed.py",
)
"""Files that take longest, of those that cannot be cut; most of them wait for other processes."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]{3}")

_BUILT_IN = frozenset(vars(builtins))

_WAYS: deque[bool] = deque([False], maxlen=1)
"""Whether the test that ran last compiled in the least time."""

_RECENT: deque[str] = deque(maxlen=12)
"""The files whose tests ran last in this process."""


def pytest_configure(config: pytest.Config) -> None:
    """Set what holds for the process.

    Losses that nobody would see without the limit of Python are not seen with it.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))
    # Where the tests are started in the background, it is ignored, by what they start, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _keep_modules(config)
    _keep_programs(config)
    # `_LONG` are to come first, not what has most tests.
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What modules compute as they are imported, is compiled soonest."""
    if session.config.pluginmanager.hasplugin("dsession"):  # Others collect.
        return (yield)
    from tests.quick import quickly_compiled

    with quickly_compiled():
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest: no worker is to wait for another one at the end."""
    if wrong := [item.nodeid for item in items if _ADDRESS.search(item.nodeid)]:
        raise pytest.UsageError(
            f"names of tests hold addresses, which differ by worker: {wrong[0]}; "
            "give `parametrize` other ids"
        )
    order = {name: place for place, name in enumerate(_LONG)}
    ways = {item.path: False for item in items}
    for item in items:
        ways[item.path] |= _is_quick(item)
    items.sort(
        key=lambda item: (order.get(item.path.name, len(order)), ways[item.path])
    )


def _keep_modules(config: pytest.Config) -> None:
    """Have a module compiled once, and read once by Hypothesis, which looks for constants in it.

    Most of the processes that tests start import half of what stands here, in a folder of their own.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if cache := getattr(config, "cache", None):
        folder = str(cache.mkdir("hypothesis"))
        os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", folder)


def _keep_programs(config: pytest.Config) -> None:
    """Have jax compile a program once: for all workers, what they start, and later runs.

    A program is found by its text and by all else that machine code follows from, so that
    a test of code that has changed compiles it again. `--cache-clear` forgets all.
    """
    cache = getattr(config, "cache", None)
    if "JAX_COMPILATION_CACHE_DIR" in os.environ or cache is None:
        return
    folder = cache.mkdir("programs")
    with os.scandir(folder) as entries:
        kept = [Path(entry) for entry in entries]
    if len(kept) > _PROGRAMS:
        for path in kept:
            path.unlink(missing_ok=True)
    options = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    # jax reads the environment as it is imported, and so do the processes that inherit it.
    os.environ.update({name.upper(): str(value) for name, value in options.items()})
    if jax := sys.modules.get("jax"):  # by the conftest of a folder that was named
        for name, value in options.items():
            jax.config.update(name, value)


@pytest.fixture(autouse=True, scope="session")
def _memory_is_enough() -> Iterator[None]:
    """What tests write is thrown away: it need not reach the disk, which takes most of their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def pytest_collection_finish() -> None:
    """What is collected stays: it is not to be looked through for garbage, over and over."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if not _RECENT or _RECENT[-1] != item.location[0]:
        _RECENT.append(item.location[0])
    try:
        with _compiling(item):
            return (yield)
    finally:
        _keep_room(f"what {item.nodeid} leaves")
        _keep_builtins(item.nodeid)


def _is_quick(item: pytest.Item) -> bool:
    """Whether a test claims nothing that machine code decides: it runs a program once."""
    return item.get_closest_marker("optimized") is None and not os.environ.get(
        "MLAX_SCAFFOLD_OPTIMIZED"
    )


def _compiling(item: pytest.Item) -> AbstractContextManager[None]:
    """Where all that a test does compiles soonest: see `tests/quick.py`."""
    quickly = _is_quick(item)
    # What has been compiled in one way is not to run in a test that compiles in the other one.
    if quickly != _WAYS[-1] and (jax := sys.modules.get("jax")):
        jax.clear_caches()
    _WAYS.append(quickly)
    if not quickly:
        return nullcontext()
    from tests.quick import quickly_compiled

    return quickly_compiled()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Iterator[None]:
    """Say of an endless recursion what it cannot be known by: how much room there was."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance(RecursionError):
        room = next((n for n in range(0, 5000, 20) if not _has_room(n)), 5000)
        report.sections.append(
            (
                "frames",
                f"limit {sys.getrecursionlimit()}, free beside the report {room}, "
                f"in the traceback {len(call.excinfo.traceback)}; "
                f"files before: {', '.join(_RECENT)}",
            )
        )
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Iterator[None]:
    try:
        return (yield)
    finally:
        _keep_room(f"{request.fixturename} of {request.node.nodeid}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    item.runtest = functools.partial(with_room, item.runtest)
    try:
        return (yield)
    finally:
        del item.runtest
        _keep_room(item.nodeid)


def _keep_room(after: str) -> None:
    """Make up for frames that Python takes for running although they are not.

    jaxlib counts each level of a tree as one, and does not take it back where flattening
    the tree raises: `jax.tree.leaves([{1: 0, "a": 0}])` takes two frames for good, and an
    endless recursion through trees takes nearly all of them. The reports of later tests,
    which have nothing to do with it, would fail.
    """
    if not _has_room(_FRAMES):
        sys.setrecursionlimit(sys.getrecursionlimit() + 1000)
        warnings.warn(f"frames were lost in {after}", stacklevel=1)


def _keep_builtins(after: str) -> None:
    """Take out of the built-in names containers that a test left there, and tell which.

    Programs that are executed have these names, and what flattens all that a program has would flatten
    them, too, and would not end where one holds them all.
    """
    names = vars(builtins)
    for name in names.keys() - _BUILT_IN:
        if isinstance(names[name], dict | list | tuple):
            delattr(builtins, name)
            warnings.warn(f"{name} was a built-in name after {after}", stacklevel=1)


def _has_room(frames: int) -> bool:
    try:
        _descend(frames)
    except RecursionError:
        return False
    return True


def _descend(frames: int) -> None:
    if frames:
        _descend(frames - 1)
