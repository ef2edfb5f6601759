"""Names, nodes and walks, as a program in blox expects them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import pytest
from graph_blox import start


def test_a_root_has_the_path_of_its_name(bx: Any):
    graph = bx.Graph("net")
    assert (graph.name, graph.path) == ("net", ("net",))


def test_a_child_adds_its_name(bx: Any):
    node = bx.Graph("net").child("encoder").child("layer")
    assert (node.name, node.path) == ("layer", ("net", "encoder", "layer"))


def test_a_slash_makes_a_child(bx: Any):
    graph = bx.Graph("net")
    assert (graph / "encoder" / "layer").path == ("net", "encoder", "layer")


def test_a_name_is_given_once(bx: Any):
    graph = bx.Graph("net")
    graph.child("layer")
    with pytest.raises(ValueError, match="layer"):
        graph.child("layer")


def test_a_name_is_given_once_by_slashes_too(bx: Any):
    graph = bx.Graph("net")
    graph.child("layer")
    with pytest.raises(ValueError, match="layer"):
        _ = graph / "layer"


def test_siblings_may_have_children_of_one_name(bx: Any):
    graph = bx.Graph("net")
    first, second = graph.child("a").child("x"), graph.child("b").child("x")
    assert first.path != second.path


def test_a_name_is_not_empty(bx: Any):
    with pytest.raises(ValueError, match="name"):
        bx.Graph("")


def test_nor_is_that_of_a_child(bx: Any):
    with pytest.raises(ValueError, match="name"):
        bx.Graph("net").child("")


def test_nodes_know_their_parent(bx: Any):
    graph = bx.Graph("net")
    node = graph.child("encoder")
    assert node.parent is graph
    assert node.child("layer").parent is node


def test_a_root_has_no_parent(bx: Any):
    assert bx.Graph("net").parent is None


def test_nodes_know_their_root(bx: Any):
    graph = bx.Graph("net")
    assert graph.child("a").child("b").child("c").root is graph
    assert graph.root is graph


def test_a_node_has_no_module_at_first(bx: Any):
    assert bx.Graph("net").child("layer").module is None


def test_a_node_knows_its_module(bx: Any):
    graph = bx.Graph("net")
    rng = bx.Rng(graph.child("rng"))
    assert rng.graph.module is rng
    assert rng.graph.parent is graph


def test_the_root_is_no_node_of_a_module(bx: Any):
    with pytest.raises(ValueError, match="root"):
        bx.Rng(bx.Graph("net"))


def test_nor_of_a_layer(bx: Any):
    graph, rng, _ = start(bx)
    with pytest.raises(ValueError, match="root"):
        bx.Linear(graph, output_size=3, rng=rng)


def test_a_node_has_one_module(bx: Any):
    node = bx.Graph("net").child("rng")
    bx.Rng(node)
    with pytest.raises(ValueError, match="rng"):
        bx.Rng(node)


def test_walking_gives_modules_with_their_paths(bx: Any):
    graph, rng, _ = start(bx)
    linear = bx.Linear(graph.child("linear"), output_size=3, rng=rng)
    assert list(graph.walk()) == [
        (("net", "rng"), rng),
        (("net", "linear"), linear),
    ]


def test_walking_is_depth_first(bx: Any):
    graph, rng, _ = start(bx)
    node = graph.child("a")
    inner = bx.Linear(node.child("x"), output_size=3, rng=rng)
    outer = bx.Sequential(node, [inner])
    last = bx.Linear(graph.child("b"), output_size=3, rng=rng)
    found = [module for _, module in graph.walk()]
    assert found == [rng, outer, inner, last]


def test_walking_passes_nodes_without_a_module(bx: Any):
    graph, rng, _ = start(bx)
    linear = bx.Linear(graph.child("a").child("b"), output_size=3, rng=rng)
    assert list(graph.walk())[1:] == [(("net", "a", "b"), linear)]


def test_walking_leaves_the_beginning_out(bx: Any):
    _, rng, _ = start(bx)
    assert list(rng.graph.walk()) == []


def test_walking_finds_what_is_to_be_changed(bx: Any):
    graph, rng, _ = start(bx)
    cells = [bx.LSTM(graph.child(n), hidden_size=2, rng=rng) for n in "ab"]
    for _, module in graph.walk():
        if isinstance(module, bx.LSTM):
            module.is_static = True
    assert all(cell.is_static for cell in cells)


def test_a_node_has_notes(bx: Any):
    node = bx.Graph("net").child("layer")
    assert node.metadata == {}
    node.metadata["colour"] = "red"
    assert node.metadata["colour"] == "red"


def test_a_node_is_shown_by_its_path(bx: Any):
    assert "net/encoder/layer" in repr(bx.Graph("net").child("encoder").child("layer"))


def test_names_may_have_slashes(bx: Any):
    graph = bx.Graph("net/v1")
    node = graph.child("encoder/0").child("proj/out")
    assert node.path == ("net/v1", "encoder/0", "proj/out")
    assert "net/v1/encoder/0/proj/out" in repr(node)


@pytest.mark.parametrize(
    "name", ["layer/1", "layer.1", "block[0]", "größe", "a b", "x:y"]
)
def test_names_may_have_any_characters(bx: Any, name: str):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child(name), output_size=2, rng=rng)
    _, params = layer(params, jnp.ones((1, 3)))
    trainable, rest = params.split()
    assert set(trainable.keys()) == {("net", name, "kernel"), ("net", name, "bias")}
    assert set(rest.keys()) == {("net", "rng", "seed"), ("net", "rng", "counter")}


def test_two_graphs_of_one_name_are_two(bx: Any):
    first, second = bx.Graph("net"), bx.Graph("net")
    first.child("layer")
    assert second.child("layer").root is second
