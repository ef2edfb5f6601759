"""Where a state lies: on eight simulated devices, and what rules may say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jax
import pytest
from jax.sharding import PartitionSpec as P
from train_models import created

from mlax import train

HERE = Path(__file__).parent
MESH = jax.make_mesh((1,), ("model",))
REST = (".*", P())


@cache
def failed() -> dict[str, str]:
    """The tracebacks of the checks that fail; all run in one process."""
    flags = os.environ.get("XLA_FLAGS", "")
    flags += " --xla_force_host_platform_device_count=8"
    done = subprocess.run(
        [sys.executable, "train_sharded.py"],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["devices"] == 8
    return result["failed"]


@pytest.mark.parametrize(
    "check", ["pairs", "parts_of_batches", "params", "examples", "checkpoints"]
)
def test_on_eight_devices(check: str):
    assert check not in failed(), failed()[check]


def test_the_first_pattern_that_is_found_counts():
    state, _, _ = created(average=True)
    rules = [(r"^layers/0/kernel$", P("model")), ("kernel", P(None, "model")), REST]
    placed = train.shardings(state, MESH, rules)
    for tree in (placed.trainables, placed.optimizer.mean, placed.average):
        assert tree.layers[0].kernel.spec == P("model")
        assert tree.layers[3].kernel.spec == P(None, "model")
        assert tree.layers[0].bias.spec == P()
    assert placed.key.spec == placed.step.spec == placed.optimizer.step.spec == P()
    weights = train.shardings(state.trainables, MESH, rules)
    assert weights == placed.trainables


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        (
            [("kernel", P())],
            ValueError,
            r"no pattern is found in layers/0/bias.*\"\.\*\"",
        ),
        ([("kernel", "model"), REST], TypeError, "pair of a regular expression"),
        ([("kernel(", P()), REST], ValueError, "no regular expression"),
        ([("kernel", P("data")), REST], ValueError, "the mesh has the axes model"),
        ([(".*", P(None, "model"))], ValueError, r"layers/0/bias of the shape \(8,\)"),
    ],
)
def test_rules_that_do_not_fit_are_named(rules: Any, error: type, message: str):
    with pytest.raises(error, match=message):
        train.shardings(created()[0], MESH, rules)


def test_axes_that_do_not_divide_are_named():
    mesh = jax.sharding.AbstractMesh((3,), ("model",))
    with pytest.raises(
        ValueError, match="8 does not divide by the 3 devices of 'model'"
    ):
        train.shardings(created()[0], mesh, [("layers/0/bias", P("model")), REST])  # type: ignore[arg-type]
