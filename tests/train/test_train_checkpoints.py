"""Checkpoints: a run that is resumed is the one that was not interrupted."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import pytest
from train_models import batches, created, equal, modules

from mlax import optim, train

Library = Literal["safetensors", "orbax"]
LIBRARIES: tuple[Library, ...] = ("safetensors", "orbax")


def scaled(weights: Any) -> Any:
    return optim.DynamicLossScaling.init(optim.AdamW.init(weights, 0.01), period=3)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_resumed_run_is_exact(tmp_path: Path, library: Library):
    state, made, loss = created(scaled, average=True, rate=0.5)
    step = jax.jit(train.step(loss, made, micro_batches=2, average_decay=0.9))
    for batch in batches(4):
        state, _ = step(state, batch)
    where = train.save(tmp_path / "run", state, library=library)
    for batch in batches(8, first=4):
        state, _ = step(state, batch)

    like = jax.eval_shape(lambda: created(scaled, average=True, rate=0.5)[0])
    resumed = train.restore(where, like)
    assert int(resumed.step) == 4
    for batch in batches(8, first=int(resumed.step)):
        resumed, _ = step(resumed, batch)
    equal(resumed, state)


@pytest.mark.parametrize("library", LIBRARIES)
def test_arrays_without_elements_come_back(tmp_path: Path, library: Library):
    state, _, _ = created(lambda weights: optim.Galore.init(weights, 0.01, rank=2))
    shapes = [leaf.shape for leaf in jax.tree.leaves(state.optimizer.projection)]
    assert (0,) in shapes
    train.save(tmp_path, state, library=library)
    equal(train.restore(tmp_path, jax.eval_shape(lambda: state)), state)
    other = state._replace(average=jnp.zeros((0, 3)))
    train.save(tmp_path / "other", other, library=library)
    with pytest.raises(ValueError, match=r"different|unexpected|missing"):
        train.restore(tmp_path / "other", other._replace(average=jnp.zeros((2, 3))))


@pytest.mark.parametrize("library", LIBRARIES)
def test_another_process_resumes(tmp_path: Path, library: Library):
    state, made, loss = created()
    step = jax.jit(train.step(loss, made))
    for batch in batches(2):
        state, _ = step(state, batch)
    train.save(tmp_path, state, library=library)
    for batch in batches(4, first=2):
        state, _ = step(state, batch)
    program = f"""
import jax
from train_models import batches, created
from mlax import train
like, made, loss = created()
state = train.restore({str(tmp_path)!r}, like)
step = jax.jit(train.step(loss, made))
for batch in batches(4, first=int(state.step)):
    state, _ = step(state, batch)
train.save({str(tmp_path / "after")!r}, state)
"""
    subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, check=True
    )
    equal(train.restore(tmp_path / "after", state), state)


@pytest.mark.parametrize("library", LIBRARIES)
def test_parameters_of_modules_come_back(tmp_path: Path, library: Library):
    _, params = modules()
    trainables, rest = params.split()
    made = optim.Adam.init(trainables, 0.01)
    state = train.init(trainables, rest, made, jax.random.key(5, impl="rbg"))
    train.save(tmp_path, state, library=library)
    restored = train.restore(tmp_path, state)
    equal(restored, state)
    equal(restored.trainables.merge(restored.non_trainables), params)
    assert str(jax.random.key_impl(restored.key)) == "rbg"


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_goes_with_a_state_is_saved_beside_it(tmp_path: Path, library: Library):
    state, _, _ = created()
    stopping = train.EarlyStopping(patience=3).update(0.1).update(0.2)
    tree = {"state": state, "stopping": stopping, "epoch": 7, "done": True}
    train.save(tmp_path, tree, step=12, library=library)
    new = train.EarlyStopping(patience=3)
    like = {"state": state, "stopping": new, "epoch": 0, "done": False}
    restored = train.restore(tmp_path, like)
    assert restored["stopping"] == stopping
    assert (restored["epoch"], restored["done"]) == (7, True)
    assert type(restored["stopping"].waited) is int
    equal(restored["state"], state)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_latest_stay(tmp_path: Path, library: Library):
    state, _, _ = created()
    assert train.latest(tmp_path / "no") is None
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "step-x.safetensors").write_text("mine")
    for number in (9, 10, 100):
        train.save(tmp_path, state, step=number, keep=2, library=library)
    end = ".safetensors" if library == "safetensors" else ""
    assert {p.name for p in tmp_path.iterdir()} == {
        *("notes.txt", "step-x.safetensors"),
        *(f"step-00000010{end}", f"step-00000100{end}"),
    }
    assert train.latest(tmp_path) == tmp_path / f"step-00000100{end}"


def test_one_that_was_just_written_stays(tmp_path: Path):
    state, _, _ = created()
    for number in (10, 20, 5):
        written = train.save(tmp_path, state, step=number, keep=1)
        assert written.exists()


def test_what_is_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    state, _, _ = created()
    with pytest.raises(FileNotFoundError, match="no checkpoint in"):
        train.restore(tmp_path, state)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        train.restore(tmp_path / "step-00000001.safetensors", state)
    with pytest.raises(ValueError, match="its step must be given"):
        train.save(tmp_path, {"state": state})
    with pytest.raises(ValueError, match="'safetensors' or 'orbax', got 'pickle'"):
        train.save(tmp_path, state, library="pickle")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keep must be an integer"):
        train.save(tmp_path, state, keep=0)
    other = state._replace(average=state.trainables)
    for library in LIBRARIES:
        where = train.save(tmp_path / library, state, library=library)
        with pytest.raises(ValueError, match=r"missing: average/layers/0/kernel"):
            train.restore(where, other)
    with pytest.raises(FileExistsError, match="step-00000000"):
        train.save(tmp_path / "orbax", state, library="orbax")
    narrow = state._replace(step=jnp.zeros((), jnp.int8))
    with pytest.raises(ValueError, match=r"step: expected int8\[\], got int32\[\]"):
        train.restore(tmp_path / "safetensors", narrow)
    with pytest.raises(ValueError, match=r"step: expected int8\[\], got int32\[\]"):
        train.restore(tmp_path / "orbax", narrow)

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="pip install orbax-checkpoint"):
        train.restore(tmp_path / "orbax", state)
