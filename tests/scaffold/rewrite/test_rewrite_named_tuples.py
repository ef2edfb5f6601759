"""Inputs that are NamedTuples: eagerly and generated, given as such or as plain tuples."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import Examples, importable

from mlax._core import checks
from mlax_scaffold.errors import SpecError
from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.reader.library import read_library

LAYER = '''
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, Size, ones, trainable


class Edges(NamedTuple):
    """Nodes, and the two ends of edges."""

    nodes: Float["n features"]
    senders: Int["m"]
    receivers: Int["m"]

    @property
    def sent(self):
        return self.nodes[self.senders]


class Messages(Layer):
    """Scaled differences along edges."""

    features: Size  #: size of the last axis

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def forward(
        self, graph: Edges, shift: Float["features"], before: Edges | None = None
    ) -> Edges:
        difference = graph.sent - graph.nodes[graph.receivers]
        if before is not None:
            difference = difference + before.sent
        return graph._replace(nodes=difference * self.scale + shift)
'''


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    spec = SpecFile("specs/nn/messages.py", "nn", LAYER)
    with importable([spec], words, tmp_path_factory.mktemp("trees")) as made:
        yield made


NODES = np.arange(6.0, dtype=np.float32).reshape(3, 2)
ENDS = np.array([0, 2, 1, 1]), np.array([1, 0, 2, 1])


@pytest.mark.parametrize("named", [False, True])
def test_both_forms_are_taken(named: bool, examples: Examples):
    module = examples.module("nn", "messages")
    weights, state, hyperparams = _made(module)
    graph = tuple(map(jnp.asarray, (NODES, *ENDS)))
    graph = module.Edges(*graph) if named else graph
    shift = jnp.asarray([10.0, 20.0])
    y, _ = module.fwd((graph, shift), weights, state, hyperparams)
    assert type(y) is module.Edges
    expected = 3.0 * (NODES[ENDS[0]] - NODES[ENDS[1]]) + [10.0, 20.0]
    np.testing.assert_allclose(y.nodes, expected, rtol=1e-6)
    np.testing.assert_array_equal(y.senders, ENDS[0])
    layer = examples.oracle("nn", "messages")(2)
    layer.load(weights)
    np.testing.assert_array_equal(layer((graph, shift)).nodes, y.nodes)


@pytest.mark.parametrize("named", [False, True])
def test_both_forms_are_taken_by_name(named: bool, examples: Examples):
    module = examples.module("nn", "messages")
    weights, state, hyperparams = _made(module)
    graph = tuple(map(jnp.asarray, (NODES, *ENDS)))
    before = module.Edges(*graph) if named else graph
    given = graph, jnp.zeros(2)
    y, _ = module.fwd(given, weights, state, hyperparams, before=before)
    expected = 3.0 * (2 * NODES[ENDS[0]] - NODES[ENDS[1]])
    np.testing.assert_allclose(y.nodes, expected, rtol=1e-6)
    layer = examples.oracle("nn", "messages")(2)
    layer.load(weights)
    np.testing.assert_array_equal(layer(given, before=before).nodes, y.nodes)


def _made(module):
    weights, state, hyperparams = module.init(jax.random.key(0), 2)
    return weights._replace(scale=3.0 * weights.scale), state, hyperparams


def test_shapes_and_dtypes_of_fields_are_checked(examples: Examples):
    module = examples.module("nn", "messages")
    made = _made(module)
    shift = jnp.zeros(2)
    nodes, senders, receivers = map(jnp.asarray, (NODES, *ENDS))
    with pytest.raises(ValueError, match=r"m"):
        module.fwd(((nodes, senders, receivers[:2]), shift), *made)
    with pytest.raises(TypeError, match="tuple of 3"):
        module.fwd(((nodes, senders), shift), *made)
    with pytest.raises(TypeError):
        module.fwd(((nodes.astype(jnp.bfloat16), senders, receivers), shift), *made)


def test_fields_say_what_arrays_they_are(words):
    text = LAYER.replace('nodes: Float["n features"]', "nodes: jax.Array")
    with pytest.raises(
        SpecError, match="Give each field of Edges the type of an array"
    ):
        read_library((SpecFile("specs/nn/messages.py", "nn", text),), words)


def test_parts_of_a_tuple_that_may_be_absent_share_their_axes():
    memory = ("heads d d | None", "heads d | None")
    matrix, norm = jnp.zeros((1, 4, 4)), jnp.zeros((1, 4))
    for given in ((matrix, norm), None):
        checks.shapes("Layer", {}, memory=(given, memory))
    with pytest.raises(ValueError, match=r"memory\[1\] must have shape \(heads, d\)"):
        checks.shapes("Layer", {}, memory=((matrix, norm[:, :3]), memory))
    # What may be absent says nothing of other inputs.
    checks.shapes("Layer", {}, memory=((matrix, norm), memory), x=(norm[0], "heads"))
