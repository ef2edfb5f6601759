"""Parameters of seeded modules in files, and in tables."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from graph_models import start

import mlax
import mlax.graph as bx

X = jnp.ones((2, 4))


def same(a: bx.Params, b: bx.Params) -> bool:
    """Whether two hold the same arrays, bit by bit, keys and counters among them."""
    return jax.tree.structure(a) == jax.tree.structure(b) and all(
        x.dtype == y.dtype and x.shape == y.shape and bool(jnp.all(x == y))
        for x, y in zip(*map(jax.tree.leaves, (a, b)), strict=True)
    )


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg", "unsafe_rbg"])
def test_seeds_and_counters_come_back(tmp_path, implementation):
    graph, rng, params = start()
    params = rng.seed(params, seed=jax.random.key(2**20, impl=implementation))
    norm = bx.BatchNorm(graph.child("norm"), channel_last=True, rng=rng)
    drop = bx.Dropout(graph.child("drop"), 0.5, rng=rng)
    model = bx.Sequential(graph.child("model"), [norm, drop])
    _, params = model(params, X, is_training=True)
    file = tmp_path / "model.safetensors"
    mlax.save_safetensors(file, params, {"step": "3"})
    shapes = jax.eval_shape(lambda: params)
    for like in (params, shapes):
        restored = mlax.load_safetensors(file, like=like)
        assert same(restored, params)
    y, z = (model(p, X, is_training=True)[0] for p in (params, restored))
    assert (y == z).all(), "the same numbers are drawn"
    seed = mlax.load_safetensors(file)["model/rng/seed"]
    assert seed == rng.get_seed(params)


def test_keys_of_any_tree_come_back(tmp_path):
    tree = {
        "keys": jax.random.split(jax.random.key(0), (2, 3)),
        "raw": jax.random.PRNGKey(1),
        "weight": X,
    }
    mlax.save_safetensors(tmp_path / "a", tree)
    restored = mlax.load_safetensors(tmp_path / "a", like=tree)
    assert restored["keys"].shape == (2, 3)
    assert all((restored[name] == tree[name]).all() for name in tree)
    other = tree | {"keys": jax.random.split(jax.random.key(0, impl="rbg"), (2, 3))}
    with pytest.raises(ValueError, match=r"keys: expected key<rbg>.*got key<fry>"):
        mlax.load_safetensors(tmp_path / "a", like=other)
    with pytest.raises(ValueError, match="'prng_keys' in the metadata"):
        mlax.save_safetensors(tmp_path / "b", tree, {"prng_keys": "mine"})


def models(graph: bx.Graph, rng: bx.Rng) -> dict[str, Any]:
    """Modules around a layer that is beside them."""
    linear = bx.Linear(graph.child("linear"), 4, rng=rng)
    inner = bx.Series(graph.child("inner"), [linear])
    return {
        "linear": linear,
        "Sequential": bx.Sequential(graph.child("sequential"), [linear, jax.nn.relu]),
        "Series": bx.Series(graph.child("series"), [linear]),
        "Residual": bx.Residual(graph.child("residual"), inner),
    }


@pytest.mark.parametrize("name", ["linear", "Sequential", "Series", "Residual"])
def test_a_table_counts_the_parameters_of_the_modules_in_a_module(name):
    graph, rng, params = start()
    model = models(graph, rng)[name]
    _, params = model(params, X, is_training=False)
    text = bx.summary(model.graph, params)
    assert text.endswith(
        "2 parameters of 20 elements, 20 of them trainable; unlocked"
    ), text
    assert "kernel" in text
    if name != "linear":
        assert "model/linear" in text
        assert "Linear" in text
    everything = bx.summary(graph, params)
    assert "4 parameters of 22 elements" in everything
