"""A layer that was converted is compared with the code that it comes from, by a test that goes with it."""

import subprocess
import sys

import pytest
from cli_projects import ProjectFolder

from mlax_scaffold.project.staging import Outcome, Stage

LINEN = """\
import flax.linen as nn


class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, train: bool):
        y = nn.relu(nn.Dense(self.width)(nn.LayerNorm()(x)))
        return x + nn.Dropout(0.5, deterministic=not train)(nn.Dense(x.shape[-1])(y))
"""
MASKED = """\
import flax.linen as nn
import jax.numpy as jnp


class Masked(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, mask=None, bias=None):
        y = nn.Dense(self.width)(x)
        if bias is not None:
            y = y + bias
        if mask is not None:
            y = jnp.where(mask[..., None], y, 0.0)
        return y
"""
TORCH = """\
import torch.nn as nn


class Gate(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim)

    def forward(self, x):
        return x * self.linear(x)
"""
OTHERS = """\
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax


def soft_threshold(x, y, scale: float = 0.5):
    return jnp.sign(x - y) * jnp.maximum(jnp.abs(x - y) - scale, 0.0)


def init_affine(key, n_in, n_out):
    return {"w": jax.random.normal(key, (n_in, n_out)), "b": jnp.zeros((n_out,))}


def apply_affine(params, x):
    return jnp.tanh(x @ params["w"] - params["b"])


class Unit:
    def __init__(self, n, m, rng):
        self.w = rng.normal(size=(n, m))
        self.b = np.zeros(m)
        self.steps = np.arange(m) / m

    def forward(self, x):
        return np.tanh(x @ self.w - self.b) + self.steps


class TraceState(NamedTuple):
    trace: optax.Updates


def heavy_ball(learning_rate, decay=0.9):
    def init_fn(params):
        return TraceState(jax.tree.map(jnp.zeros_like, params))

    def update_fn(updates, state, params=None):
        trace = jax.tree.map(lambda t, g: decay * t - g, state.trace, updates)
        return jax.tree.map(lambda t: learning_rate * t, trace), TraceState(trace)

    return optax.GradientTransformation(init_fn, update_fn)
"""
KINDS = {
    "function": ("soft_threshold", "new-function", "functional/probe", "maximum"),
    "pair": ("affine", "new-layer", "nn/probe", "tanh"),
    "class": ("Unit", "new-layer", "nn/probe", "tanh"),
    "optimizer": ("heavy_ball", "new-optimizer", "optim/probe", " - "),
}
"""What each is created from, how, where, and what says the same no more where it is changed."""
CHANGED = {"maximum": "minimum", "tanh": "sin", " - ": " + "}
TEST = "tests/parity/test_parity_nn_probe_block.py"


@pytest.fixture
def model(empty: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    """A project with code to convert; nothing is tried out, which takes a process of its own."""
    passed = Outcome(0, "5 passed in 1.00s")
    monkeypatch.setattr(Stage, "prove", lambda *arguments: passed)
    empty.write("model.py", LINEN)
    empty.write("gate.py", TORCH)
    empty.write("others.py", OTHERS)
    return empty


def made(model: ProjectFolder) -> ProjectFolder:
    model.ok("new-layer", "ProbeBlock", "--from", "model.py:Block")
    return model


def run(model: ProjectFolder, test: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "-o", "pythonpath=.", test],
        cwd=model.root,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_test_passes_with_the_weights_of_the_original(model):
    found = run(made(model), TEST)
    assert found.returncode == 0, found.stdout
    assert "1 passed" in found.stdout


def test_it_fails_where_the_spec_says_something_else(model):
    made(model)
    spec = "specs/nn/probe_block.py"
    text = (model.root / spec).read_text()
    assert "jax.nn.relu(" in text
    model.write(spec, text.replace("jax.nn.relu(", "jax.nn.silu("))
    model.ok("generate", "--no-trial")
    found = run(model, TEST)
    assert found.returncode == 1
    assert "Not equal to tolerance" in found.stdout


def test_inputs_that_may_be_left_out_are_compared_too(model):
    model.write("masked.py", MASKED)
    model.ok("new-layer", "ProbeBlock", "--from", "masked.py:Masked")
    assert "3 passed" in run(model, TEST).stdout
    spec = "specs/nn/probe_block.py"
    text = (model.root / spec).read_text()
    model.write(spec, text.replace("y + bias", "y - bias"))
    model.ok("generate", "--no-trial")
    found = run(model, TEST).stdout
    assert "1 failed, 2 passed" in found
    assert "test_computes_what_the_original_does[bias]" in found


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_code_has_its_test(model, kind):
    thing, command, place, said = KINDS[kind]
    name = "probe" if command == "new-function" else "Probe"
    told = model.ok(command, name, "--from", f"others.py:{thing}")
    test = f"tests/parity/test_parity_{place.replace('/', '_')}.py"
    assert f"compare with the original: pytest {test}" in told
    found = run(model, test)
    assert "1 passed" in found.stdout, found.stdout
    spec = f"specs/{place}.py"
    text = (model.root / spec).read_text()
    assert said in text
    model.write(spec, text.replace(said, CHANGED[said]))
    model.ok("generate", "--no-trial")
    found = run(model, test)
    assert "Not equal to tolerance" in found.stdout, found.stdout


def test_it_is_skipped_with_a_reason_where_the_framework_is_missing(model):
    model.ok("new-layer", "ProbeGate", "--from", "gate.py:Gate")
    found = run(model, "tests/parity/test_parity_nn_probe_gate.py")
    assert found.returncode == 0, found.stdout
    assert "gate.py needs torch, which is not installed" in found.stdout


def test_it_is_skipped_with_a_reason_where_the_original_is_gone(model):
    made(model)
    (model.root / "model.py").unlink()
    found = run(model, TEST)
    assert "model.py, which it was converted from, is not there" in found.stdout


def test_the_original_may_be_beside_the_project(model):
    place = model.root.parent / f"{model.root.name}_originals" / "model.py"
    place.parent.mkdir()
    place.write_text(LINEN)
    model.ok(
        "new-layer", "ProbeBlock", "--from", f"../{place.parent.name}/model.py:Block"
    )
    assert f'"../{place.parent.name}/model.py"' in (model.root / TEST).read_text()
    found = run(model, TEST)
    assert "1 passed" in found.stdout, found.stdout
    place.write_text("import absent_package\n" + LINEN)
    found = run(model, TEST)
    assert "cannot be imported: No module named 'absent_package'" in found.stdout


def test_it_is_told_among_what_was_created(model):
    told = model.ok("new-layer", "ProbeBlock", "--from", "model.py:Block")
    assert f"created  {TEST}" in told
    assert f"compare with the original: pytest {TEST}" in told


def test_undo_takes_it_back(model):
    before = model.files()
    made(model).ok("undo")
    assert model.files() == before


def test_remove_takes_it_along(model):
    before = {*model.files(), "mlax-scaffold.lock"}
    made(model).ok("remove", "ProbeBlock")
    assert set(model.files()) == before


def test_rename_gives_it_the_new_name(model):
    made(model).ok("rename", "ProbeBlock", "OtherBlock")
    moved = "tests/parity/test_parity_nn_other_block.py"
    assert not (model.root / TEST).exists()
    assert "import OtherBlock" in (model.root / moved).read_text()
    assert "ProbeBlock" not in (model.root / moved).read_text()
    assert run(model, moved).returncode == 0


def test_move_takes_it_along(model):
    made(model).ok("move", "ProbeBlock", "block")
    moved = "tests/parity/test_parity_block_probe_block.py"
    assert not (model.root / TEST).exists()
    assert ".block import ProbeBlock" in (model.root / moved).read_text()


def test_check_is_clean_with_it(model):
    made(model).ok("check")
