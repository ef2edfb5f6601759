"""Calls beneath which there is room for the frames of other calls."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_SLOTS = 2**19 + 2**15
"""A little more than half of a piece of 8 MiB, so that the rest of the piece is for other frames."""


def _call(function: Callable[[], T]) -> T:
    __tracebackhide__ = True
    return function()


_ROOMY = types.FunctionType(_call.__code__.replace(co_stacksize=_SLOTS), globals())


def with_room(function: Callable[[], T]) -> T:
    """What a function returns, called where the frames of its calls lie side by side.

    CPython keeps frames in pieces of 16 KiB, or of as much as the first frame of a piece asks for, and gives
    an empty one back. Where a loop calls functions at the end of a piece, each call asks the system for
    memory: a sixth of the time of long contracts was spent so. What a frame asks for and does not use is
    never touched.
    """
    __tracebackhide__ = True
    return _ROOMY(function)
