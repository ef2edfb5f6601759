"""What the checks of blox's behaviour begin with, and how those are told that differ here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import pytest

Check = Callable[[Any], None]
F = TypeVar("F", bound=Callable[..., None])


def otherwise(check: F) -> F:
    """A check that calls things otherwise here."""
    check.__dict__["differs"] = True
    return check


def differs(refused: type[BaseException], ours: Check) -> Callable[[Check], Check]:
    """A check of blox's behaviour that is another here, as docs/from-blox.md says.

    Args:
        refused: what the check as it stands raises here.
        ours: the check of what is here in its place.
    """

    def wrap(check: Check) -> Check:
        @functools.wraps(check)
        def run(bx: Any) -> None:
            if bx.__name__ == "blox":
                check(bx)
                return
            with pytest.raises(refused):
                check(bx)
            ours(bx)

        return otherwise(run)

    return wrap


def start(bx: Any, seed: int = 0) -> tuple[Any, Any, Any]:
    """A graph, a generator in it, and params with its seed."""
    graph = bx.Graph("net")
    rng = bx.Rng(graph.child("rng"))
    return graph, rng, rng.seed(bx.Params(), seed=seed)


def same(a: Any, b: Any) -> bool:
    """Whether two keys are the same."""
    return bool((jax.random.key_data(a) == jax.random.key_data(b)).all())
