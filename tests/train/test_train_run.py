"""The loop, what it logs and when it stops; means over batches."""

from __future__ import annotations

import builtins
import io
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from train_models import batches, created, equal

from mlax import train


def counting(state: train.State, batch: Any) -> tuple[train.State, dict[str, Any]]:
    """A step that counts, and measures what it was given."""
    return state._replace(step=state.step + 1), {"loss": jnp.float32(batch)}


@pytest.fixture
def start() -> train.State:
    return created()[0]


def test_a_run_is_its_steps():
    state, made, loss = created()
    step = jax.jit(train.step(loss, made))
    expected = state
    for batch in batches(5):
        expected, _ = step(expected, batch)
    equal(train.run(step, state, batches(5)), expected)


def test_it_logs_now_and_then_and_at_the_end(start: train.State):
    logged: list[Any] = []
    state = train.run(
        counting, start, range(7), log=lambda *row: logged.append(row), log_every=3
    )
    assert logged == [(3, {"loss": 2.0}), (6, {"loss": 5.0}), (7, {"loss": 6.0})]
    assert type(logged[0][1]["loss"]) is float
    logged.clear()
    train.run(
        counting, state, range(2), log=lambda *row: logged.append(row), log_every=3
    )
    assert logged == [(9, {"loss": 1.0})]


def test_steps_are_counted_from_the_first_run(start: train.State):
    given = iter(range(100))
    state = train.run(counting, start, given, steps=4)
    assert int(state.step) == 4
    # No batch is drawn that is not used.
    assert next(given) == 4
    state = train.run(counting, state, given, steps=6)
    assert int(state.step) == 6
    assert train.run(counting, state, given, steps=6) is state
    assert next(given) == 7


def test_actions_are_done_in_time_and_can_stop_it(start: train.State):
    done: list[Any] = []

    def note(state: train.State) -> None:
        done.append(int(state.step))

    def stop(state: train.State) -> bool:
        done.append("stop?")
        return int(state.step) >= 6

    state = train.run(counting, start, range(100), every=[(3, stop), (2, note)])
    assert done == [2, "stop?", 4, "stop?", 6]
    assert int(state.step) == 6


def test_only_true_stops(start: train.State):
    state = train.run(counting, start, range(3), every=[(1, lambda state: 1)])  # type: ignore[list-item]
    assert int(state.step) == 3


def test_a_bar_shows_where_it_is(start: train.State, monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    train.run(counting, start, range(3), steps=3)
    assert not stream.getvalue()
    train.run(counting, start, range(3), steps=3, progress=True)
    assert "3/3" in stream.getvalue()
    stream.truncate(0)
    monkeypatch.setattr(stream, "isatty", lambda: True)
    train.run(counting, start, range(3), steps=3)
    assert "3/3" in stream.getvalue()


def test_without_tqdm_there_is_no_bar_unless_asked_for(
    start: train.State, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert builtins.int(train.run(counting, start, range(2)).step) == 2
    with pytest.raises(ModuleNotFoundError, match="pip install tqdm"):
        train.run(counting, start, range(2), progress=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": -1}, "steps must be an integer of at least 0"),
        ({"log_every": 0}, "log_every must be an integer of at least 1"),
        ({"every": [(0, print)]}, "every must be an integer of at least 1"),
        ({"every": [(1, None)]}, r"every takes pairs \(n, function\)"),
    ],
)
def test_wrong_arguments_are_named(
    start: train.State, given: dict[str, Any], message: str
):
    with pytest.raises((ValueError, TypeError), match=message):
        train.run(counting, start, range(1), **given)


def test_means_are_over_examples_not_over_batches():
    draws = np.random.default_rng(0).normal(size=1000)

    @jax.jit
    def measure(batch: Any) -> dict[str, Any]:
        return {"value": batch, "positive": batch > 0}

    parts = [draws[:700].astype(np.float32), draws[700:].astype(np.float32)]
    measured = train.evaluate(measure, parts)
    np.testing.assert_allclose(measured["value"], draws.mean(), rtol=1e-5)
    assert measured["positive"] == (draws > 0).sum() / 1000


def test_means_of_half_precision_are_exact():
    # bfloat16 has no such number.
    ones = jnp.full((4097,), 1.0, jnp.bfloat16)
    assert train.evaluate(lambda batch: {"one": batch}, [ones] * 3) == {"one": 1.0}


def test_what_cannot_be_a_mean_is_told():
    with pytest.raises(TypeError, match="'loss' is a scalar"):
        train.evaluate(lambda batch: {"loss": jnp.mean(batch)}, [jnp.ones(3)])
    with pytest.raises(TypeError, match="dict of arrays by name"):
        train.evaluate(lambda batch: batch, [jnp.ones(3)])  # type: ignore[arg-type]
    for nothing in ([], [jnp.ones(0)]):
        with pytest.raises(ValueError, match="no example"):
            train.evaluate(lambda batch: {"x": batch}, nothing)
    names = iter(["a", "b"])
    with pytest.raises(ValueError, match=r"batch 1 has the names \['b'\]"):
        train.evaluate(lambda batch: {next(names): batch}, [jnp.ones(3)] * 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_patience_ends(sign: int):
    stopping = train.EarlyStopping(
        patience=2, min_delta=0.125, larger_is_better=sign < 0
    )
    assert not stopping.has_improved
    history = []
    for value in (1.0, 0.5, 0.4375, 0.375, float("nan"), 0.25, 0.25, float("nan")):
        stopping = stopping.update(sign * jnp.float32(value))
        history.append((stopping.has_improved, stopping.should_stop))
    yes, no, end = (True, False), (False, False), (False, True)
    # 0.375 is better by no more than min_delta, and 0.25 by more.
    assert history == [yes, yes, no, end, end, yes, no, end]
    assert stopping.best == sign * 0.25


def test_stopping_checks_what_it_is_given():
    with pytest.raises(ValueError, match="patience must be an integer of at least 1"):
        train.EarlyStopping(patience=0)
    with pytest.raises(ValueError, match="min_delta must be"):
        train.EarlyStopping(patience=1, min_delta=-1.0)
