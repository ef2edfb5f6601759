"""The loop around a step."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .._core import checks
from ._state import State

Log = Callable[[int, dict[str, float]], object]
Action = Callable[[State], object]


def run(
    step: Callable[[State, Any], tuple[State, dict[str, Any]]],
    state: State,
    batches: Iterable[Any],
    *,
    steps: int | None = None,
    log: Log | None = None,
    log_every: int = 100,
    every: Sequence[tuple[int, Action]] = (),
    progress: bool | None = None,
) -> State:
    """Call a step on one batch after another.

    It waits for the device only where something is logged or done.

    Args:
        step: what `train.step` returned, compiled.
        state: where to begin. Its arrays are gone where the step donates them.
        batches: the batches from this state on. After a resume these are not the first ones.
        steps: the number of steps that the last state has; None: until no batch is left.
        log: called with the number of steps and what the step measured, as numbers.
        log_every: every how many steps it is called. It is called after the last one, too.
        every: pairs of a number and a function of the state, which is called every so many
            steps: to evaluate, to save. Where it returns True, and nothing else, this is the
            last step.
        progress: whether a bar is shown; None: where `tqdm` is installed and the error
            stream is a terminal.

    Returns:
        The last state.

    Raises:
        ValueError, TypeError: where an argument is not what it may be.
        ModuleNotFoundError: where a bar is asked for and `tqdm` is not installed.
    """
    steps = checks.optional(checks.count, "train.run", steps=steps)
    log_every = checks.size("train.run", log_every=log_every)
    for period, action in every:
        checks.size("train.run", every=period)
        checks.require("train.run", callable(action), "every takes pairs (n, function)")
    done = logged = int(state.step)
    measured: dict[str, Any] = {}
    if steps is not None and done >= steps:
        return state
    with _bar(done, steps, progress) as advance:
        for batch in batches:
            state, measured = step(state, batch)
            done += 1
            advance()
            if log is not None and done % log_every == 0:
                log(done, _numbers(measured))
                logged = done
            # A list: each of them is to be done, also where one says to stop.
            stops = [action(state) for period, action in every if done % period == 0]
            if any(stop is True for stop in stops) or done == steps:
                break
    if log is not None and logged != done:
        log(done, _numbers(measured))
    return state


def _numbers(measured: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in measured.items()}


@contextmanager
def _bar(
    done: int, steps: int | None, progress: bool | None
) -> Iterator[Callable[[], object]]:
    """What is called after each step: a bar moves on, or nothing happens."""
    if progress is None:
        progress = sys.stderr.isatty() and bool(importlib.util.find_spec("tqdm"))
    if not progress:
        yield lambda: None
        return
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError as error:
        raise ModuleNotFoundError(
            "train.run: progress=True needs the package tqdm: pip install tqdm"
        ) from error
    with tqdm(total=steps, initial=done, unit="step") as bar:
        yield bar.update
