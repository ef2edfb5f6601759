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

NESTED = '''
from typing import NamedTuple

import jax.numpy as jnp

from mlax_scaffold.spec import Float, Int, Layer, Size, ones, trainable


class Boxes(NamedTuple):
    """Two corners of each."""

    low: Float["n 2"]
    high: Float["n 2"]


class Scene(NamedTuple):
    """What is seen, and where."""

    kinds: Int["n"]
    boxes: Boxes


class Sizes(Layer):
    """The sizes of what is seen, of more boxes, and of one that may be left out."""

    classes: Size

    def setup(self):
        self.scale = trainable(ones, (self.classes, 2))

    def forward(
        self, scene: Scene, more: tuple[Boxes, ...], other: Scene | None = None
    ) -> Scene:
        size = (scene.boxes.high - scene.boxes.low) * self.scale[scene.kinds]
        for boxes in more:
            size = size + boxes.high - boxes.low
        if other is not None:
            size = size + other.boxes.high
        return scene._replace(boxes=Boxes(low=scene.boxes.low, high=size))
'''
FUNCTION = '''
from typing import NamedTuple

import jax.numpy as jnp

from mlax_scaffold.spec import Float, function, prod


class Box(NamedTuple):
    """Two corners of each."""

    low: Float["n 2"]
    high: Float["n 2"]


@function
def overlap(a: Box, b: Box) -> Float["n"]:
    """The area that is in both."""
    low, high = jnp.maximum(a.low, b.low), jnp.minimum(a.high, b.high)
    return prod(jnp.maximum(high - low, 0), axis=-1)
'''

SEVERAL = '''
import enum
from typing import NamedTuple

import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, ones, trainable


class Way(enum.Enum):
    """What is done with a sum."""

    PLAIN = "plain"
    TWICE = "twice"


class Sums(NamedTuple):
    """What is carried."""

    total: Float["n"]
    last: Float["n"]


ZERO = (0.0, 0.0)


class Adding(Layer):
    """Adds an input, scaled."""

    size: Size
    way: Way = Way.PLAIN

    def setup(self):
        self.scale = trainable(ones, (self.size,))

    def forward(self, x: Float["n"], sums: Sums) -> Sums:
        x = x * self.scale
        x = x + x if self.way is Way.TWICE else x
        return Sums(sums.total + x, x)


class Summed(Layer):
    """Adds over time, by the layer before it."""

    size: Size
    way: Way = Way.TWICE

    def setup(self):
        self.add = Adding(self.size, way=self.way)

    def forward(self, x: Float["time n"]) -> Sums:
        start = Sums(*(jnp.full_like(x[0], zero) for zero in ZERO))
        sums, _ = jax.lax.scan(lambda sums, x: (self.add(x, sums), None), start, x)
        last = self.add(x[0], sums)
        return last if isinstance(last, Sums) else start
'''


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    specs = [
        SpecFile("specs/nn/messages.py", "nn", LAYER),
        SpecFile("specs/nn/sizes.py", "nn", NESTED),
        SpecFile("specs/functional/overlap.py", "functional", FUNCTION),
        SpecFile("specs/nn/summed.py", "nn", SEVERAL),
    ]
    with importable(specs, words, tmp_path_factory.mktemp("trees")) as made:
        yield made


CORNERS = np.arange(8.0, dtype=np.float32).reshape(2, 2, 2)
KINDS = np.array([2, 1])


@pytest.mark.parametrize("named", [False, True])
def test_named_tuples_in_others_are_taken_in_both_forms(
    named: bool, examples: Examples
):
    module = examples.module("nn", "sizes")
    weights, state, hyperparams = module.init(jax.random.key(0), 3)
    weights = weights._replace(scale=jnp.arange(6.0).reshape(3, 2))
    boxes = tuple(map(jnp.asarray, (CORNERS[0], CORNERS[1])))
    boxes = module.Boxes(*boxes) if named else boxes
    scene = jnp.asarray(KINDS), boxes
    scene = module.Scene(*scene) if named else scene
    given = scene, (boxes, boxes, boxes)
    y, _ = module.fwd(given, weights, state, hyperparams, other=scene)
    assert (type(y), type(y.boxes)) == (module.Scene, module.Boxes)
    scale = np.arange(6.0).reshape(3, 2)[KINDS]
    expected = (CORNERS[1] - CORNERS[0]) * (scale + 3) + CORNERS[1]
    np.testing.assert_allclose(y.boxes.high, expected)
    layer = examples.oracle("nn", "sizes")(3)
    layer.load(weights)
    np.testing.assert_array_equal(layer(given, other=scene).boxes.high, expected)


def test_arrays_of_named_tuples_in_others_are_checked(examples: Examples):
    module = examples.module("nn", "sizes")
    made = module.init(jax.random.key(0), 3)
    low, high, kinds = map(jnp.asarray, (*CORNERS, KINDS))
    with pytest.raises(TypeError, match=r"scene\[1\]\[0\] must be a floating array"):
        module.fwd(((kinds, (kinds, high)), ()), *made)
    with pytest.raises(ValueError, match=r"more\[0\]\[1\] must have shape \(n, 2\)"):
        module.fwd(((kinds, (low, high)), ((low, high[:1]),)), *made)


@pytest.mark.parametrize("named", [False, True])
def test_functions_take_named_tuples(named: bool, examples: Examples):
    module = examples.module("functional", "_overlap")
    boxes = tuple(map(jnp.asarray, (CORNERS[0], CORNERS[1])))
    other = tuple(b + 1 for b in boxes)
    given = [module.Box(*b) if named else b for b in (boxes, other)]
    y = module.overlap(*given)
    np.testing.assert_allclose(y, [9.0, 9.0])
    np.testing.assert_array_equal(examples.oracle("functional", "overlap")(*given), y)


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


def test_a_class_of_several_definitions_of_a_file_is_one(examples: Examples):
    adding, summed = (examples.module("nn", n) for n in ("adding", "summed"))
    assert (summed.Sums, summed.Way) == (adding.Sums, adding.Way)
    weights, state, hyperparams = summed.init(jax.random.key(0), 2)
    weights = jax.tree.map(lambda w: jnp.asarray([2.0, 3.0], w.dtype), weights)
    x = jnp.asarray(NODES)
    y, _ = summed.fwd(x, weights, state, hyperparams)
    assert type(y) is adding.Sums
    scaled = 2 * NODES * [2.0, 3.0]
    np.testing.assert_allclose(y.total, scaled.sum(0) + scaled[0])
    layer = examples.oracle("nn", "summed")(2)
    layer.load(weights)
    np.testing.assert_array_equal(layer(x).total, y.total)
