"""Where parameters lie: over eight simulated devices, and what their metadata may say."""

from __future__ import annotations

import json
from functools import cache

import jax.numpy as jnp
import pytest
from graph_programs import run
from graph_sharded import CHECKS
from jax.sharding import PartitionSpec as P

import mlax.graph as bx


@cache
def failed() -> dict[str, str]:
    """The tracebacks of the checks that fail; all run in one process."""
    result = json.loads(run("import graph_sharded; graph_sharded.main()", devices=8))
    assert result["devices"] == 8
    return result["failed"]


@pytest.mark.parametrize("check", CHECKS)
def test_on_eight_devices(check: str) -> None:
    assert not failed().get(check), failed()[check]


def made(metadata: object) -> bx.Params:
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("linear"), 4, metadata=metadata, rng=rng)  # type: ignore[arg-type]
    return linear(rng.seed(bx.Params(), seed=0), jnp.ones((1, 3)))[1]


def test_what_has_no_sharding_is_replicated() -> None:
    specs = bx.partition_specs(made({"kernel": {"sharding": P("model")}}))
    assert specs["model", "linear", "kernel"].value == P("model")
    assert specs["model", "linear", "bias"].value == P()


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        (
            {"kernel": {"sharding": "model"}},
            TypeError,
            "'model/linear/kernel' must be a PartitionSpec",
        ),
        (
            {"bias": {"sharding": P(None, "a")}},
            ValueError,
            "'model/linear/bias'.*more axes than",
        ),
    ],
)
def test_a_sharding_that_does_not_fit_is_named(metadata, error, message) -> None:
    with pytest.raises(error, match=message):
        bx.partition_specs(made(metadata))


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ({"kernal": {}}, ValueError, "here 'kernel', 'bias'; got 'kernal'"),
        ({"sharding": P("model")}, ValueError, "here 'kernel', 'bias'; got 'sharding'"),
        (P("model"), TypeError, "a mapping of the names of parameters"),
        ({"kernel": {"axes": ["a"]}}, TypeError, "must be hashable"),
    ],
)
def test_metadata_that_would_have_no_effect_is_refused(
    metadata, error, message
) -> None:
    with pytest.raises(error, match=message):
        made(metadata)


def test_metadata_of_sub_layers_is_nested() -> None:
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    tags = {"layers": {"1": {"kernel": {"tag": "deep"}}}, "output": {"bias": {"t": 1}}}
    mlp = bx.MLP(graph.child("mlp"), 2, [4, 4], rng=rng, metadata=tags)
    _, params = mlp(rng.seed(bx.Params(), seed=0), jnp.ones((1, 3)))
    tagged = {path[2:]: param.metadata for path, param in params.items()}
    assert {path for path, metadata in tagged.items() if metadata} == {
        ("layers", "1", "kernel"),
        ("output", "bias"),
    }
    for wrong in ({"layers": {"kernel": {}}}, {"layers": {"1": {"kernal": {}}}}):
        with pytest.raises(ValueError, match=r"MLP\.layers"):
            bx.MLP(graph.child(str(wrong)), 2, [4], rng=rng, metadata=wrong)
