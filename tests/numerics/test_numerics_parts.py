"""Weights that are parts of the whole, in `jax.shard_map`, and those that only look like it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from numerics_programs import run_on_devices

import mlax.graph as bx
from mlax import block, nn

PROGRAM = """
import jax, jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P
import mlax.graph as bx
from mlax import block, nn

mesh = Mesh(np.array(jax.devices()), ("model",))
COLUMNS = nn.linear.LinearTrainables(P(None, "model"), P("model"))
key = jax.random.key(0)
whole, _, hyperparams = nn.Linear.init(key, 4, 16)
series, state, composed = block.Series.init([(whole, None, hyperparams)])
graph = bx.Graph("model")
rng = bx.Rng(graph.child("rng"))
module = bx.Linear(graph.child("linear"), 16, in_features=4, rng=rng)


class Own(bx.Module):
    def __call__(self, params, x):
        scale, params = self.get_param(params, "scale", (16,))
        return x * scale, params


def pair(weights, x):
    return nn.Linear.fwd(x, weights, None, hyperparams)[0]


def composite(weights, x):
    given = series._replace(layers=(weights,))
    return block.Series.fwd(x, given, state, composed)[0]


def scanned(weights, x):
    return jax.lax.map(lambda x: pair(weights, x), x[None])[0]


def of_module(weights, x):
    params = bx.pair_to_params(module, whole, None)
    leaves, structure = jax.tree.flatten(params.locked())
    return module(jax.tree.unflatten(structure, list(weights)), x)[0]


def over_devices(function, x):
    out = P(*[None] * (x.ndim - 1), "model")
    return jax.shard_map(function, mesh=mesh, in_specs=(COLUMNS, P()), out_specs=out)


for function in (pair, composite, scanned, of_module):
    for x in (jnp.arange(8.0).reshape(2, 4), jnp.arange(24.0).reshape(2, 3, 4)):
        parts = over_devices(function, x)
        for run in (parts, jax.jit(parts)):
            np.testing.assert_allclose(run(whole, x), pair(whole, x), rtol=1e-6)

scale = Own(graph.child("own"))
ones = jnp.ones((2, 16))
params = bx.Params().add(("model", "own", "scale"), jnp.arange(16.0)).locked()
specs = jax.tree.map(lambda _: P("model"), params)
run = jax.shard_map(
    lambda p, x: scale(p, x)[0], mesh=mesh, in_specs=(specs, P(None, "model")), out_specs=P(None, "model")
)
np.testing.assert_array_equal(run(params, ones)[0], jnp.arange(16.0))


def refused(function, weights, named):
    def body(x):
        return function(weights, x)

    try:
        jax.shard_map(body, mesh=mesh, in_specs=P(), out_specs=P())(jnp.ones((2, 4)))
    except ValueError as error:
        assert named in str(error), error
        return
    raise AssertionError(f"{function.__name__} takes {weights}")


kernel, bias = jnp.ones((4, 2)), jnp.ones(2)
for function in (pair, composite):
    refused(function, nn.linear.LinearTrainables(kernel[None], bias), "kernel")
    refused(function, nn.linear.LinearTrainables(kernel, bias[None]), "bias")
    refused(function, nn.linear.LinearTrainables(kernel, None), "bias")
    refused(function, (kernel, bias), "LinearTrainables")
refused(of_module, (kernel[None], bias), "kernel")

# Copies of the whole, one for each device, are not parts.
stacked = jax.tree.map(lambda w: jnp.stack([w] * 8), whole)
x = jnp.ones((8, 2, 4))
each = jax.pmap(pair, axis_name="i")(stacked, x)
np.testing.assert_allclose(each[3], pair(whole, x[3]), rtol=1e-6)
"""


def test_whole_hyperparameters_work_on_parts():
    run_on_devices(PROGRAM)


def other_size(fit):
    small, _, _ = nn.Linear.init(jax.random.key(0), 4, 2)
    _, _, hyperparams = nn.Linear.init(jax.random.key(0), 4, 16)
    return fit(lambda x: nn.Linear.fwd(x, small, None, hyperparams)[0])


@pytest.mark.parametrize(
    "fit",
    [
        lambda f: f(jnp.ones((2, 4))),
        lambda f: jax.vmap(f, axis_name="i")(jnp.ones((3, 2, 4))),
        lambda f: jax.eval_shape(jax.jit(f), jnp.ones((2, 4))),
        lambda f: jax.lax.map(f, jnp.ones((3, 2, 4))),
    ],
    ids=["eager", "named vmap", "jit", "scan"],
)
def test_elsewhere_another_size_is_refused(fit):
    with pytest.raises(ValueError, match=r"'kernel' must have shape \(4, 16\), got"):
        other_size(fit)


def wraps():
    """How weights come that are not the arrays that `init` made, and fit."""
    yield "numpy", lambda w: jax.tree.map(jax.device_get, w)
    yield "traced", lambda w: w
    yield "other dtype", lambda w: jax.tree.map(lambda a: a.astype(jnp.bfloat16), w)
    yield "added", lambda w: w._replace(kernel=w.kernel + jnp.ones((4, 16)))


@pytest.mark.parametrize(("name", "wrap"), [*wraps()], ids=lambda v: str(v)[:12])
def test_what_fits_is_taken(name, wrap):
    weights, state, hyperparams = nn.Linear.init(jax.random.key(0), 4, 16)
    x = jnp.ones((2, 4))
    assert nn.Linear.fwd(x, wrap(weights), state, hyperparams)[0].shape == (2, 16)
    structs = jax.eval_shape(wrap, weights) if name != "numpy" else weights
    y, _ = jax.eval_shape(nn.Linear.fwd, x, structs, state, hyperparams)
    assert y.shape == (2, 16)


def test_stacked_weights_are_mapped_and_scanned():
    keys = jax.random.split(jax.random.key(0), 3)
    weights, _, hyperparams = jax.vmap(lambda k: nn.Linear.init(k, 4, 4))(keys)
    x = jnp.ones((2, 4))
    mapped = jax.vmap(lambda w: nn.Linear.fwd(x, w, None, hyperparams)[0])
    assert jax.eval_shape(mapped, weights).shape == (3, 2, 4)

    def step(x, w):
        return nn.Linear.fwd(x, w, None, hyperparams)[0], None

    assert jax.eval_shape(lambda: jax.lax.scan(step, x, weights)[0]).shape == (2, 4)
    with pytest.raises(ValueError, match=r"'kernel' must have shape \(4, 4\), got \(3"):
        nn.Linear.fwd(x, weights, None, hyperparams)


def test_a_layer_is_exported():
    linear = nn.Linear.init(jax.random.key(0), 4, 16)
    batch = jax.export.symbolic_shape("batch, 4")
    structs = jax.ShapeDtypeStruct(batch, jnp.float32), linear[0]
    exported = jax.export.export(
        jax.jit(lambda x, w: nn.Linear.fwd(x, w, None, linear[2])[0])
    )(*structs)
    assert exported.out_avals[0].shape[1] == 16


def test_the_check_leaves_nothing_in_the_program():
    weights, state, hyperparams = nn.Linear.init(jax.random.key(0), 4, 16)
    jaxpr = jax.make_jaxpr(lambda x, w: nn.Linear.fwd(x, w, state, hyperparams)[0])(
        jnp.ones((2, 4)), weights
    )
    by_hand = jax.make_jaxpr(lambda x, w: x @ w.kernel + w.bias)
    assert str(jaxpr) == str(by_hand(jnp.ones((2, 4)), weights))


def test_a_layer_without_an_outline_stands_in_a_block():
    """Hyperparameters of one's own need `apply` alone; what they take is theirs to check."""

    class Double:
        def apply(self, x, trainables, non_trainables, inference_mode, key):
            return 2 * x, non_trainables

    linear = nn.Linear.init(jax.random.key(0), 4, 4)
    for own in (None, jnp.ones(3), {"a": jnp.ones(2)}):
        made = block.Series.init([(own, None, Double()), linear])
        assert block.Series.fwd(jnp.ones((2, 4)), *made)[0].shape == (2, 4)
        surplus = made[0]._replace(layers=(*made[0].layers, own))
        with pytest.raises(ValueError, match="'layers' must be a tuple of 2, got 3"):
            block.Series.fwd(jnp.ones((2, 4)), surplus, *made[1:])


def test_a_module_names_the_place():
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    linear = bx.Linear(graph.child("linear"), 16, rng=rng)
    params = linear(rng.seed(bx.Params(), seed=0), jnp.ones((2, 4)))[1]
    with pytest.raises(ValueError, match=r"kernel.*must have shape"):
        linear(params.locked(), jnp.ones((2, 5)))
