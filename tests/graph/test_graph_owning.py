"""Module classes of blocks that have weights, states or layers of their own beside the given ones."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start

import mlax.block
import mlax.graph as bx
from mlax import block, nn
from mlax_scaffold.model.project import Project
from mlax_scaffold.reader.files import LIBRARY_SPECS, SpecFile, find_specs
from mlax_scaffold.reader.library import read_library
from mlax_scaffold.render import draft
from mlax_scaffold.render.formatting import format_python

SPEC = '''
import jax

from mlax_scaffold.spec import Block, Float, Initializer, Size, SubLayer, SubLayers
from mlax_scaffold.spec import lecun_normal, mean, ones, state, trainable, zeros
from mlax_scaffold.specs.nn.layer_norm import LayerNorm


class Owner(Block):
    """Scales a layer, counts calls, and adds noise."""

    layer: SubLayer  #: a layer
    features: Size  #: size of the last axis
    first_initializer: Initializer = ones  #: of the gate

    def setup(self):
        self.gate = trainable(self.first_initializer, (self.features,))
        self.shift = trainable(lecun_normal(), (self.features, 1))
        self.seen = state(zeros, ())
        self.norm = LayerNorm(self.features)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        self.seen = self.seen + 1.0
        if self.training:
            x = x + jax.random.normal(self.key(), x.shape, x.dtype)
        return x + self.gate * self.layer(self.norm(x)) + x @ self.shift


class Mixture(Block):
    """A mean of layers, weighted by learned numbers, each of a width that it says."""

    layers: SubLayers  #: layers

    def setup(self):
        widths = [layer.out_features for layer in self.layers]
        self.scales = trainable(ones, (len(widths), widths[0]))

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        y = 0.0
        for i, layer in enumerate(self.layers):
            y = y + self.scales[i] * layer(x)
        return y


class Alone(Block):
    """Is given no layer, and keeps no state."""

    features: Size  #: size of the last axis

    def setup(self):
        self.norm = LayerNorm(self.features)

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x + self.norm(x)


class Doubled(Block):
    """Has neither weights nor states."""

    scale: float = 2.0  #: what it multiplies by

    def forward(self, x: Float["*batch features"]) -> Float["*batch features"]:
        return x * self.scale
'''


@pytest.fixture(scope="module")
def owners() -> Any:
    """The pairs and the module classes of the spec, as if they were part of the library."""
    project = Project("mlax", "specs", "mlax", "tests", "docs")
    own = (SpecFile("specs/block/owners.py", "block", SPEC),)
    library = read_library(own, find_specs(LIBRARY_SPECS, "library"))
    found = ModuleType("owners")
    names: list[str] = []
    for definition in (d for d in library if d.source == own[0].path):
        made = draft(definition, library, project)
        files = {f.path: f for f in format_python(made.files, project.package)}
        made.check(files)
        for place in ("block", "graph/block"):
            name = f"mlax.{place.replace('/', '.')}.{definition.module}"
            module = ModuleType(name)
            names.append(name)
            sys.modules[name] = module  # dataclasses look for it
            if place == "block":
                setattr(mlax.block, definition.module, module)
                setattr(found, f"{definition.module}_pair", module)
            exec(files[f"mlax/{place}/{definition.module}.py"].text, vars(module))
        setattr(found, definition.name, getattr(module, definition.name))
    yield found
    for name in names:
        del sys.modules[name]
    for name in ("owner", "mixture", "alone", "doubled"):
        delattr(mlax.block, name)


X = jax.random.normal(jax.random.key(9), (2, 4))


def owner(owners: Any, graph: bx.Graph, rng: bx.Rng, inner: Any = None) -> Any:
    layer = inner or bx.Linear(graph.child("linear"), 4, rng=rng)
    return owners.Owner(graph.child("owner"), layer, 4, rng=rng)


def test_one_that_keeps_no_state_has_none(owners: Any):
    graph, rng, params = start()
    alone = owners.Alone(graph.child("alone"), 4, rng=rng)
    y, params = alone(params, X)
    pair = owners.alone_pair
    trainables, state, hyperparams = pair.init(jax.random.key(0), features=4)
    assert state is None
    np.testing.assert_array_equal(y, pair.fwd(X, trainables, state, hyperparams)[0])
    doubled = owners.Doubled(graph.child("doubled"))
    np.testing.assert_array_equal(doubled(params, X)[0], 2.0 * X)


def test_it_creates_what_it_declares_and_what_its_modules_lack(owners: Any):
    graph, rng, params = start()
    model = owner(owners, graph, rng)
    _, params = model(params, X)
    below = {"/".join(path[1:]) for path in params if path[1] != "rng"}
    assert below == {
        *("owner/gate", "owner/shift", "owner/seen"),
        *("owner/norm/scale", "owner/norm/bias", "linear/kernel", "linear/bias"),
    }
    assert params["model", "owner", "gate"].trainable
    assert not params["model", "owner", "seen"].trainable
    again = model(params.locked(), X)[1]
    assert again.value(("model", "owner", "seen")) == 2.0


def test_it_computes_what_the_pair_does(owners: Any):
    graph, rng, params = start()
    model = owner(owners, graph, rng)
    _, params = model(params, X, is_training=False)
    trees = bx.params_to_pair(model, params)
    y, after = model(params, X, is_training=False)
    expected, state = owners.owner_pair.fwd(X, *trees, model.hyperparams, True)
    np.testing.assert_array_equal(y, expected)
    new = bx.params_to_pair(model, after)[1]
    assert new.seen == state.seen == 2.0
    back = bx.pair_to_params(model, *trees, params)
    assert jax.tree.map(jnp.array_equal, back, params)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, back, params))


def test_it_draws_with_a_key_of_its_rng(owners: Any):
    graph, rng, params = start()
    model = owner(owners, graph, rng)
    _, params = model(params, X, is_training=False)
    one, params = model(params, X)
    other, _ = model(params, X)
    assert not jnp.allclose(one, other)
    with pytest.raises(ValueError, match="seed"):
        model(params.remove(rng.paths), X)


def test_locked_params_must_have_its_own(owners: Any):
    graph, rng, params = start()
    model = owner(owners, graph, rng)
    _, made = model(params, X)
    missing = made.remove({("model", "owner", "gate")}).locked()
    with pytest.raises(bx.LockedError, match="gate"):
        model(missing, X)


def test_settings_of_its_own_parameters(owners: Any):
    graph, rng, params = start()
    model = owners.Owner(
        graph.child("owner"),
        bx.Linear(graph.child("linear"), 4, rng=rng),
        4,
        rng=rng,
        dtype=jnp.bfloat16,
        first_initializer=jax.nn.initializers.zeros,
        metadata={"gate": {"sharding": "here"}},
    )
    _, params = model(params, X)
    gate = params["model", "owner", "gate"]
    assert gate.value.dtype == jnp.bfloat16
    assert not gate.value.any()
    assert gate.metadata["sharding"] == "here"
    with pytest.raises(ValueError, match="here 'gate', 'shift', 'seen', 'norm'"):
        owners.Owner(graph.child("other"), model, 4, metadata={"kernel": {}})


def test_in_other_blocks(owners: Any):
    graph, rng, params = start()
    inner = owner(owners, graph, rng)
    outer = owners.Owner(graph.child("outer"), inner, 4, rng=rng)
    model = bx.Series(
        graph.child("series"), [outer, bx.Residual(graph.child("r"), outer)]
    )
    y, params = model(params, X, is_training=False)
    assert params.value(("model", "owner", "seen")) == 2.0
    assert params.value(("model", "outer", "seen")) == 2.0
    trees = bx.params_to_pair(model, params)
    again, _ = block.Series.fwd(X, *trees, model.hyperparams, True)
    expected, _ = model(params, X, is_training=False)
    np.testing.assert_array_equal(again, expected)
    assert y.shape == X.shape


def test_repeated(owners: Any):
    graph, rng, params = start()
    model = bx.Repeat(graph.child("repeat"), owner(owners, graph, rng), 3)
    _, params = model(params, X, is_training=False)
    shift = params.value(("model", "owner", "shift"))
    assert shift.shape == (3, 4, 1)
    assert not (shift[0] == shift[1]).any()
    assert (params.value(("model", "owner", "seen")) == 1.0).all()
    trees = bx.params_to_pair(model, params)
    assert trees[0].layer.gate.shape == (3, 4)
    back = bx.pair_to_params(model, *trees, params)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, back, params))


def test_gradients_reach_both(owners: Any):
    graph, rng, params = start()
    model = owner(owners, graph, rng)
    _, params = model(params, X, is_training=False)
    weights, rest = params.locked().split()

    def loss(weights: bx.Params) -> jax.Array:
        return model(weights.merge(rest), X, is_training=False)[0].sum()

    gradients = jax.grad(loss)(weights)
    for name in (("owner", "gate"), ("owner", "norm", "scale"), ("linear", "kernel")):
        assert jnp.abs(gradients.value(("model", *name))).max() > 0


def test_a_size_that_setup_reads_must_be_known(owners: Any):
    graph, rng, params = start()
    layers = [bx.Linear(graph.child(n), 4, in_features=4, rng=rng) for n in "ab"]
    model = owners.Mixture(graph.child("mixture"), layers, rng=rng)
    y, params = model(params, X)
    assert params.value(("model", "mixture", "scales")).shape == (2, 4)
    given = [nn.Linear.init(jax.random.key(i), 4, 4) for i in range(2)]
    assert owners.mixture_pair.init(jax.random.key(0), given)[0].scales.shape == (2, 4)
    assert y.shape == X.shape
    late = bx.Linear(graph.child("late"), 4, rng=rng)
    unknown = owners.Mixture(graph.child("unknown"), [late], rng=rng)
    with pytest.raises(ValueError, match="learns in_features from its first input"):
        unknown(params.unlocked(), X)
