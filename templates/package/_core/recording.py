"""Outputs that are kept while somebody looks: of layers and modules, by their paths."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

try:
    from jax.extend.core import get_opaque_trace_state
except ImportError:  # of older versions of jax
    from jax.core import get_opaque_trace_state


class Several(tuple[Any, ...]):
    """The outputs of several calls."""

    __slots__ = ()


jax.tree_util.register_pytree_node(
    Several,
    lambda outputs: (tuple(outputs), None),
    lambda _, outputs: Several(outputs),
)


class _Open(threading.local):
    """What is open, in this thread."""

    def __init__(self) -> None:
        self.frames: list[tuple[dict[str, Any], Any]] = []


_OPEN = _Open()


@contextmanager
def frame() -> Iterator[dict[str, Any]]:
    """Where what is called in here keeps its outputs."""
    found: dict[str, Any] = {}
    _OPEN.frames.append((found, _state()))
    try:
        yield found
    finally:
        _OPEN.frames.pop()


def is_open() -> bool:
    """Whether somebody looks."""
    return bool(_OPEN.frames)


def keep(path: str, output: Any) -> None:
    """Keep an output, where somebody looks.

    What is traced within a loop or another transformation has no value outside of it: it is
    not kept.
    """
    if _OPEN.frames:
        found, state = _OPEN.frames[-1]
        if state == _state():
            put(found, path, output)


def put(found: dict[str, Any], path: str, output: Any) -> None:
    """Put an output to those that were found; that of a second call beside the first one."""
    if path not in found:
        found[path] = output
        return
    first = found[path]
    earlier = first if isinstance(first, Several) else (first,)
    more = output if isinstance(output, Several) else (output,)
    found[path] = Several((*earlier, *more))


def _state() -> Any:
    return get_opaque_trace_state(convention="flax")
