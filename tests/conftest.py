"""What holds for all tests."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Iterator

import pytest

# Syntax trees and programs are made by the million, and few of them in cycles.
gc.set_threshold(50_000, 20, 20)

_FRAMES = 400
"""What pytest, and what it reports to, may need beside a test."""


def pytest_collection_finish() -> None:
    """What is collected stays: it is not to be looked through for garbage, over and over."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Iterator[None]:
    try:
        return (yield)
    finally:
        _keep_room(f"{request.fixturename} of {request.node.nodeid}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        _keep_room(item.nodeid)


def _keep_room(after: str) -> None:
    """Make up for frames that Python takes for running although they are not.

    jaxlib counts each level of a tree as one, and does not take it back where flattening
    the tree raises: `jax.tree.leaves([{1: 0, "a": 0}])` takes two frames for good, and an
    endless recursion through trees takes nearly all of them. The reports of later tests,
    which have nothing to do with it, would fail.
    """
    try:
        _descend(_FRAMES)
    except RecursionError:
        sys.setrecursionlimit(sys.getrecursionlimit() + 1000)
        warnings.warn(f"frames were lost in {after}", stacklevel=1)


def _descend(frames: int) -> None:
    if frames:
        _descend(frames - 1)
