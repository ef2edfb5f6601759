"""Inputs that are typed dictionaries: eagerly and generated, with their keys and others."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

LAYER = '''
from typing import TypedDict

from mlax_scaffold.spec import Float, Int, Layer, Size, ones, trainable


class Edges(TypedDict):
    """Nodes, and the two ends of edges."""

    senders: Int["m"]
    receivers: Int["m"]
    nodes: Float["n features"]
    weights: Float["m"] | None


class Messages(Layer):
    """Scaled differences along edges."""

    features: Size  #: size of the last axis

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def _along(self, graph, key):
        return graph["nodes"][graph[key]]

    def forward(self, graph: Edges) -> Edges:
        difference = self._along(graph, "senders") - self._along(graph, "receivers")
        if graph["weights"] is not None:
            difference = difference * graph["weights"][:, None]
        return {**graph, "nodes": difference * self.scale}
'''


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    spec = SpecFile("specs/nn/messages.py", "nn", LAYER)
    with importable([spec], words, tmp_path_factory.mktemp("trees")) as made:
        yield made


NODES = np.arange(6.0, dtype=np.float32).reshape(3, 2)
GRAPH = {
    "nodes": jnp.asarray(NODES),
    "senders": jnp.asarray([0, 2, 1, 1]),
    "receivers": jnp.asarray([1, 0, 2, 1]),
    "weights": None,
}
EXPECTED = 3.0 * (NODES[[0, 2, 1, 1]] - NODES[[1, 0, 2, 1]])


def _made(examples: Examples):
    module = examples.module("nn", "messages")
    weights, state, hyperparams = module.init(jax.random.key(0), 2)
    weights = weights._replace(scale=3.0 * weights.scale)
    return lambda graph: module.fwd(graph, weights, state, hyperparams)[0], weights


def test_eager_and_generated_agree_and_hand_other_keys_through(examples: Examples):
    call, weights = _made(examples)
    y = call(GRAPH | {"label": jnp.asarray(7)})
    np.testing.assert_allclose(y["nodes"], EXPECTED, rtol=1e-6)
    assert y["label"] == 7
    layer = examples.oracle("nn", "messages")(2)
    layer.load(weights)
    np.testing.assert_array_equal(layer(GRAPH)["nodes"], y["nodes"])


def test_an_array_of_a_dictionary_may_be_absent(examples: Examples):
    call, _ = _made(examples)
    weighted = call(GRAPH | {"weights": jnp.full(4, 2.0)})
    np.testing.assert_allclose(weighted["nodes"], 2 * EXPECTED, rtol=1e-6)


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"senders": jnp.zeros(3, int)}, ValueError, r"graph\['senders'\]|'receivers'"),
        ({"nodes": jnp.zeros((3, 5))}, ValueError, r"graph\['nodes'\] must have shape"),
        (
            {"nodes": jnp.zeros((3, 2), int)},
            TypeError,
            r"graph\['nodes'\] must be a fl",
        ),
        ({"weights": jnp.zeros(4, jnp.float16)}, TypeError, "must have one dtype"),
    ],
)
def test_arrays_of_a_dictionary_are_checked(changed, error, said, examples: Examples):
    call, _ = _made(examples)
    with pytest.raises(error, match=said):
        call(GRAPH | changed)


@pytest.mark.parametrize("given", [{"nodes": GRAPH["nodes"]}, tuple(GRAPH.values())])
def test_what_is_no_such_dictionary_is_refused(given, examples: Examples):
    call, _ = _made(examples)
    expected = "graph must be a dictionary with senders, receivers, nodes, weights"
    with pytest.raises(TypeError, match=expected):
        call(given)
