"""Ordinary statements in `setup`, and several definitions in one file."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile
from mlax_scaffold.testing.compare import assert_matches
from mlax_scaffold.testing.oracle import find_spec

FLOW = '''
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Layer, Literal, Size, normal, trainable


class Flow(Layer):
    """Conditions, loops, local functions and arrays of NumPy."""

    features: Size
    depth: Size = 2
    kind: Literal["a", "b"] = "a"

    def setup(self):
        if self.kind == "a":
            gain = 1.0
            self.scale = 2
        elif self.depth > 3:
            gain = 2.0
            self.scale = np.sqrt(2.0)
        else:
            gain = 0.5
            self.scale = np.float32(0.5)
        widths = []
        for i in range(self.depth):
            if i % 2:
                continue
            widths.append(self.features * (i + 1))
        n = self.depth
        while n > 1:
            n //= 2

        def half(k):
            return k / 2

        total = 0
        for w in widths:
            total += w
        if total > 100:
            raise ValueError(f"the total is {total}, which is too much")
        self.widths = widths
        self.table = {w: half(w) for w in widths}
        mask = np.zeros((self.features, self.features))
        mask[0] = n
        self.mask = mask
        self.kernel = trainable(normal(gain), (self.features, self.features))

    def forward(self, x: Float["*batch features"]):
        mask = jnp.asarray(self.mask, x.dtype)
        wide = self.widths[0]
        return x @ (self.kernel * mask) * self.scale * wide * self.table[wide]
'''
PARTLY = '''
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.spec import Float, Layer, Literal, Size
from specs.nn.pair import Inner


class Partly(Layer):
    """A value that one branch alone derives, and reads for its layer."""

    features: Size
    kind: Literal["a", "b"] = "a"

    def setup(self):
        if self.kind == "a":
            self.inner = Inner(self.features)
        else:
            self.table = np.eye(self.features)
            self.inner = Inner(self.table.shape[0])

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        y = self.inner(x)
        if self.table is None:
            return y
        return 2 * y @ jnp.asarray(self.table, x.dtype)
'''
KEPT = '''
from mlax_scaffold.spec import Optimizer, Scheduled, Size, moment, zeros


class Kept(Optimizer):
    """A loop in the setup of an optimizer."""

    learning_rate: Scheduled
    order: Size = 2

    def setup(self, param):
        shape = ()
        for size in param.shape:
            if size > 1:
                shape = (*shape, size)
        self.m = moment(zeros, param.shape if len(shape) > 0 else param.shape)

    def update(self, grad, param):
        state = self.m + grad
        key = 0.5 * state
        self.m = key
        return -self.learning_rate * self.m
'''
CONSTANT = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Size, bernoulli, constant, trainable


class Constant(Layer):
    """Constants of the class, an input called init, and a sum of drawn booleans."""

    EPSILON = 1e-2
    MODES = {"a": lambda x: x, "b": lambda x: -x}
    features: Size

    def setup(self):
        self.scale = trainable(constant(1 + self.EPSILON), (self.features,))

    def forward(
        self, x: Float["*batch features"], init: Float["features"] | None = None
    ) -> Float["*batch features"]:
        if self.training:
            kept = bernoulli(self.key(), shape=x.shape, p=0.5)
            x = jnp.where(kept, x, 0) * (jnp.sum(kept) > 1)
        x = self.MODES["b"](x * self.scale) + self.EPSILON
        return x if init is None else x + init
'''
LEARNED = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, Probability, Size, normal, state, trainable
from specs.nn.pair import Inner


class Learned(Layer):
    """What is a weight, a state or a layer, or else a number or a function."""

    features: Size
    learned: bool = True
    share: Probability = 0.25

    def setup(self):
        if self.learned:
            self.scale = trainable(normal(), (self.features,))
            self.last = Inner(self.features)
        else:
            self.scale = 1 - self.share
            self.last = jnp.tanh
        self.shift = self.features**-0.5
        if self.learned:
            self.shift = trainable(normal(), ())
        self.count = 3.0 if not self.learned else state(normal(), ())

    def _scaled(self, x):
        return self.scale * x

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return self.last(self._scaled(x) + self.shift) * self.count
'''
WAYS = '''
from mlax_scaffold.spec import Float, Layer, Literal, Size, normal, trainable


class Ways(Layer):
    """A weight of one shape or another, or none, or a number."""

    features: Size
    kind: Literal["none", "number", "vector", "matrix", "scalar"]

    def setup(self):
        if self.kind == "none":
            self.scale = None
        elif self.kind == "number":
            self.scale = self.features / 2
        elif self.kind == "matrix":
            self.scale = trainable(normal(), (self.features, self.features))
        elif self.kind == "vector":
            self.scale = trainable(normal(0.1), (self.features,))
        else:
            self.scale = trainable(normal(), ())

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        if self.scale is None:
            return x
        return x @ self.scale if self.kind == "matrix" else x * self.scale
'''
FALLING = '''
import jax.numpy as jnp

from mlax_scaffold.spec import Literal, Schedule, Size


class Falling(Schedule):
    """Methods, properties, and one that is chosen by its name."""

    budget: Size
    profile: Literal["linear", "root"] = "root"

    def setup(self):
        if self._half < 1:
            raise ValueError("the budget is at least 2")

    @property
    def _half(self) -> int:
        """Of the budget."""
        return self.budget // 2

    def linear(self, left):
        return left

    def root(self, left):
        return jnp.sqrt(left)

    def value(self, step):
        left = jnp.clip(1 - step / (2 * self._half), 0, 1)
        return getattr(self, self.profile)(left)
'''
PAIR = '''
from mlax_scaffold.spec import Float, Layer, Size, ones, trainable

FACTOR = 2.0


def doubled(x):
    return FACTOR * x


class Inner(Layer):
    """Scales."""

    features: Size

    def setup(self):
        self.scale = trainable(ones, (self.features,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        while_ = x * self.scale
        return doubled(while_)


class Outer(Layer):
    """Scales twice."""

    features: Size

    def setup(self):
        self.first = Inner(self.features)
        self.others = [Inner(self.features) for _ in range(2)]

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        x = self.first(x)
        for layer in self.others:
            x = layer(x)
        return x
'''
USER = '''
from mlax_scaffold.spec import Float, Layer
from specs.nn.pair import Inner


class User(Layer):
    """Uses what stands first in another file."""

    def setup(self):
        self.inner = Inner(3)

    def forward(self, x: Float["*batch 3"]) -> Float["*batch 3"]:
        return self.inner(x)
'''
DECLARING = '''
from mlax_scaffold.spec import Float, Layer, Size, normal, state, trainable, zeros


class Declaring(Layer):
    """Fields with the names of words that declare."""

    features: Size
    state: Size = 4
    trainable: bool = True

    def setup(self):
        self.kernel = trainable(normal(), (self.features, self.state))
        self.calls = state(zeros, (self.state,))

    def forward(self, x: Float["*batch features"]) -> Float["*batch state"]:
        self.calls = self.calls + 1
        return x @ self.kernel if self.trainable else x @ -self.kernel
'''
SCALED = '''
import jax
import numpy as np

from mlax_scaffold.spec import Float, Layer, Literal, Size, trainable


class Scaled(Layer):
    """Initializers of its own that read numbers which NumPy makes, and choices of integers."""

    features: Size
    order: Literal[1, 2] = 1
    powers: tuple[Literal[1, 3], ...] = (1, 3)

    def setup(self):
        root = np.sqrt(np.arange(self.features) + 1.0)
        self.bound = 1 / root.sum() ** self.order
        largest = root.max()

        def own(key, shape, dtype):
            return jax.random.uniform(key, shape, dtype) * self.bound

        self.scale = trainable(own, (self.features,))
        self.shift = trainable(
            lambda key, shape, dtype: jax.random.normal(key, shape, dtype) * largest,
            (self.features,),
        )

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return sum(x**power for power in self.powers) * self.scale + self.shift
'''
SPECS = (
    SpecFile("specs/nn/declaring.py", "nn", DECLARING),
    SpecFile("specs/nn/scaled.py", "nn", SCALED),
    SpecFile("specs/nn/flow.py", "nn", FLOW),
    SpecFile("specs/nn/partly.py", "nn", PARTLY),
    SpecFile("specs/nn/constant.py", "nn", CONSTANT),
    SpecFile("specs/nn/learned.py", "nn", LEARNED),
    SpecFile("specs/nn/ways.py", "nn", WAYS),
    SpecFile("specs/nn/pair.py", "nn", PAIR),
    SpecFile("specs/nn/user.py", "nn", USER),
    SpecFile("specs/optim/kept.py", "optim", KEPT),
    SpecFile("specs/schedule/falling.py", "schedule", FALLING),
)
X = jnp.arange(6.0).reshape(2, 3) / 4


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    with importable(SPECS, words, tmp_path_factory.mktemp("setup")) as made:
        yield made


@pytest.mark.parametrize(("kind", "depth"), list(itertools.product("ab", (1, 2, 4))))
def test_equals_the_spec(examples: Examples, kind: str, depth: int):
    module = examples.module("nn", "flow")
    fields = {"features": 3, "kind": kind, "depth": depth}
    trees = module.init(jax.random.key(0), **fields)
    layer = examples.oracle("nn", "flow")(**fields)
    layer.initialize(jax.random.key(0))
    assert_matches(layer.trainables["kernel"], trees[0].kernel, jnp.float32)
    assert_matches(layer(X), module.fwd(X, *trees)[0], jnp.float32)


@pytest.mark.parametrize("dtype", [None, jnp.float16, jnp.bfloat16])
def test_initializers_read_what_numpy_makes_in_the_dtype_of_the_weights(
    examples: Examples, dtype: jnp.dtype | None
):
    module = examples.module("nn", "scaled")
    trees = module.init(jax.random.key(0), 3, dtype=dtype)
    layer = examples.oracle("nn", "scaled")(3)
    layer.initialize(jax.random.key(0), dtype)
    for name in ("scale", "shift"):
        found = getattr(trees[0], name)
        assert found.dtype == (dtype or jnp.float32)
        assert (found == layer.trainables[name]).all()


def test_choices_of_integers(examples: Examples):
    module = examples.module("nn", "scaled")
    made = module.init(jax.random.key(0), 3, order=np.int64(2), powers=[3])[2]
    assert (made.order, made.powers) == (2, (3,))
    assert type(made.order) is int
    for given in ({"order": 3}, {"order": True}, {"powers": (1, 2)}, {"powers": 1}):
        (name,) = given
        with pytest.raises(ValueError, match=f"Scaled: {name}"):
            module.init(jax.random.key(0), 3, **given)
        with pytest.raises(ValueError, match=f"Scaled: {name}"):
            examples.oracle("nn", "scaled")(3, **given)


@pytest.mark.parametrize(("kind", "factor"), [("a", 2.0), ("b", 4.0)])
def test_what_a_branch_derives_is_none_in_others(
    examples: Examples, kind: str, factor: float
):
    module = examples.module("nn", "partly")
    trees = module.init(jax.random.key(0), 3, kind=kind)
    assert (trees[2].table is None) == (kind == "a")
    y, _ = module.fwd(X, *trees)
    assert_matches(factor * X, y, jnp.float32)


@pytest.mark.parametrize("learned", [True, False])
def test_an_array_is_a_number_where_another_branch_holds(
    examples: Examples, learned: bool
):
    module = examples.module("nn", "learned")
    trees = module.init(jax.random.key(0), 3, learned=learned)
    y, _ = module.fwd(X, *trees)
    trainables, state, _ = trees
    if learned:
        scaled = trainables.scale * X + trainables.shift
        expected = 2 * (scaled * trainables.last.scale) * state.count
    else:
        assert jax.tree.leaves(trees[:2]) == []
        expected = jnp.tanh(0.75 * X + 3**-0.5) * 3.0
    assert_matches(expected, y, jnp.float32)
    layer = examples.oracle("nn", "learned")(3, learned=learned)
    layer.load(*trees[:2])
    assert_matches(expected, layer(X), jnp.float32)


@pytest.mark.parametrize("kind", ["none", "number", "matrix", "vector", "scalar"])
def test_a_weight_has_the_shape_of_its_branch(examples: Examples, kind: str):
    module = examples.module("nn", "ways")
    trees = module.init(jax.random.key(0), 3, kind=kind)
    y, _ = module.fwd(X, *trees)
    scale = {"none": jnp.ones(()), "number": jnp.asarray(1.5)}.get(kind, trees[0].scale)
    assert scale is not None
    assert_matches(X @ scale if kind == "matrix" else X * scale, y, jnp.float32)
    assert (trees[0].scale is None) == (kind in ("none", "number"))
    layer = examples.oracle("nn", "ways")(3, kind=kind)
    layer.load(*trees[:2])
    assert_matches(layer(X), y, jnp.float32)


def test_the_shapes_of_all_branches_are_told(examples: Examples):
    module = examples.module("nn", "ways")
    shapes = "(features, features) if kind == 'matrix' else (features,) if kind == 'vector' else ()"
    told = " ".join(inspect.getsource(module.WaysTrainables).split())
    assert "scale: jax.Array | None" in told
    assert f"{shapes}, or None unless kind != 'none' and kind != 'number'." in told


def test_hyperparameters_are_static_whatever_setup_derives(examples: Examples):
    module = examples.module("nn", "flow")
    first, second, other = (
        module.init(jax.random.key(0), 3, depth=depth, kind="b")[2]
        for depth in (4, 4, 5)
    )
    assert first == second
    assert hash(first) == hash(second)
    assert first != other
    assert type(first.scale) is float  # of NumPy it would widen half precision
    assert first.widths == (3, 9)
    with pytest.raises(ValueError, match="read-only"):
        first.mask[0] = 2


def test_requirements_may_stand_behind_loops(examples: Examples):
    module = examples.module("nn", "flow")
    with pytest.raises(ValueError, match="Flow: the total is 160, which is too much"):
        module.init(jax.random.key(0), 40, depth=4)


def test_an_optimizer(examples: Examples):
    module = examples.module("optim", "kept")
    params = {"a": jnp.ones((2, 1)), "b": jnp.ones(())}
    state, hyperparams = module.init(params, learning_rate=0.5)
    oracle = examples.oracle("optim", "kept")(learning_rate=0.5)
    oracle.initialize(params)
    for _ in range(2):
        updates, state = module.step(params, state, params, hyperparams)
        assert_matches(oracle.step(params, params), updates, jnp.float32)


@pytest.mark.parametrize("training", [True, False])
def test_constants_of_a_class(examples: Examples, training: bool):
    module = examples.module("nn", "constant")
    trees = module.init(jax.random.key(0), 3)
    assert_matches(jnp.full(3, 1.01), trees[0].scale, jnp.float32)
    layer = examples.oracle("nn", "constant")(3)
    layer.load(*trees[:2])
    key = jax.random.key(1)
    y, _ = module.fwd(X, *trees, not training, key, init=X[0])
    expected = layer(X, training=training, key=key, init=X[0])
    assert_matches(expected, y, jnp.float32)
    assert trees[2].EPSILON == module.ConstantHyperparams.EPSILON == 1e-2
    assert module.init(jax.random.key(0), 3)[2] == trees[2]


@pytest.mark.parametrize("trained", [True, False])
def test_fields_have_the_names_of_words_that_declare(examples: Examples, trained: bool):
    module = examples.module("nn", "declaring")
    trees = module.init(jax.random.key(0), 3, state=2, trainable=trained)
    y, after = module.fwd(X, *trees)
    sign = 1 if trained else -1
    assert_matches(sign * (X @ trees[0].kernel), y, jnp.float32)
    assert_matches(jnp.ones(2), after.calls, jnp.float32)


@pytest.mark.parametrize("profile", ["linear", "root"])
def test_a_schedule_has_methods(examples: Examples, profile: str):
    made = examples.module("schedule", "_falling").Falling(7, profile=profile)
    oracle = examples.oracle("schedule", "falling")(7, profile=profile)
    steps = jnp.arange(9.0)
    assert_matches(oracle(steps), made(steps), jnp.float32)
    with pytest.raises(ValueError, match="Falling: the budget is at least 2"):
        type(made)(1)


def test_each_definition_of_a_file_has_a_module(examples: Examples):
    outer, inner = examples.module("nn", "outer"), examples.module("nn", "inner")
    trees = outer.init(jax.random.key(0), 3)
    spec = find_spec("specs/nn/pair.py", near=str(examples.root / "x.py"))
    layer = spec.load()(3)
    layer.load(*trees[:2])
    assert_matches(layer(X), outer.fwd(X, *trees)[0], jnp.float32)
    named = find_spec("specs/nn/pair.py", str(examples.root / "x.py"), name="Inner")
    assert named.load().__name__ == "Inner"
    y, _ = inner.fwd(X, *inner.init(jax.random.key(0), 3))
    assert_matches(2 * X, y, jnp.float32)
    user = examples.module("nn", "user")
    y, _ = user.fwd(X, *user.init(jax.random.key(0)))
    assert_matches(2 * X, y, jnp.float32)
