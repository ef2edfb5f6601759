"""Nodes of the graph: what is above them, below them, and written on them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from graph_models import start
from jax.sharding import PartitionSpec as P

import mlax.graph as bx


def test_nodes_know_what_is_above():
    root = bx.Graph("model")
    node = root / "encoder" / "layer"
    assert node.path == ("model", "encoder", "layer")
    assert node.parent is root.children["encoder"]
    assert root.parent is None
    with pytest.raises(ValueError, match="has a child 'encoder' already"):
        _ = root / "encoder"


def test_walk_meets_modules_depth_first():
    graph, rng, _ = start()
    inner = graph.child("encoder")
    first = bx.Linear(inner.child("first"), 2, rng=rng)
    outer = bx.Sequential(graph.child("all"), [first])
    last = bx.Linear(outer.graph.child("last"), 2, rng=rng)
    met = list(graph.walk())
    assert [module for _, module in met] == [rng, first, outer, last]
    assert [path for path, _ in met] == [m.path for _, m in met]
    assert list(outer.graph.walk()) == [(last.path, last)]


def test_notes_stay_with_their_node():
    graph, _, _ = start()
    graph.metadata["author"] = "me"
    assert graph.metadata == {"author": "me"}
    assert graph.child("other").metadata == {}


def test_a_parameter_tells_its_sharding():
    param = bx.Param(jnp.ones(2), metadata={"sharding": P("model")})
    assert param.sharding == P("model")
    assert bx.Param(jnp.ones(2)).sharding == P()
    frozen = param.replace(trainable=False)
    assert not frozen.trainable
    assert frozen.value is param.value
    assert frozen.sharding == P("model")


def test_an_initializer_has_two_names():
    graph, _, params = start()
    module = bx.Module(graph.child("module"))
    ones = jax.nn.initializers.ones
    value, params = module.get_param(params, "scale", (2,), init=ones)
    assert value.tolist() == [1.0, 1.0]
    with pytest.raises(
        TypeError, match="one initializer, as `initializer` or as `init`"
    ):
        module.get_param(params, "bias", (2,), ones, init=ones)


def test_an_rng_without_a_seed_lacks_parameters():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    with pytest.raises(KeyError, match=r"^Rng: 'model/rng' is not seeded; call"):
        rng(bx.Params())
    with pytest.raises(ValueError, match="is not seeded"):
        rng.get_seed(bx.Params())


def test_profiles_name_a_module_by_its_path():
    graph, rng, params = start()
    linear = bx.Linear(graph.child("linear"), 2, rng=rng)
    lowered = jax.jit(linear).lower(params, jnp.ones((1, 3)))
    assert lowered.as_text().startswith("module @jit_model_linear ")
