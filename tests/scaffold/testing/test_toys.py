"""The small layers that blocks are tested with."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from mlax_scaffold.testing import toys
from mlax_scaffold.testing.module import uncalled


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (5, toys.WIDTH), (2, 9)])
def test_a_toy_maps_arrays_of_any_shape_to_that_shape(shape):
    weights, state, hyperparams = toys.layer(jax.random.key(0), None)
    x = jax.random.normal(jax.random.key(1), shape)
    y, _ = hyperparams.apply(x, weights, state)
    assert y.shape == shape
    assert not jnp.array_equal(y, hyperparams.scale * x)
    gradient = jax.grad(lambda w: hyperparams.apply(x, w, state)[0].sum())(weights)
    assert gradient.kernel.any()


@pytest.mark.parametrize(
    "shape", [(5, 2, toys.WIDTH), (2, 3), (2,), (3,), (3, 1, 1), (9, 9), (), (0,)]
)
def test_each_of_other_keyword_inputs_makes_a_difference(shape):
    toy = toys.Toy.one().taking("mask", "start", "shift")
    weights, state, hyperparams = toy.make(jax.random.key(0), None)
    assert hyperparams.keyword_inputs == ("shift", "mask", "start")
    x = jax.random.normal(jax.random.key(1), (5, 2, 3, toys.WIDTH))
    value = jax.random.normal(jax.random.key(2), shape)

    def outputs(**inputs):
        return hyperparams.apply(x, weights, state, **inputs)[0]

    found = [outputs(), outputs(mask=value), outputs(start=value)]
    assert all(y.shape == x.shape for y in found)
    same = [jnp.array_equal(found[i], found[j]) for i, j in [(0, 1), (0, 2), (1, 2)]]
    assert same == [not value.size] * 3


def test_a_toy_optimizer_uses_all_that_it_is_given():
    weights, gradients = {"w": jnp.arange(3.0)}, {"w": jnp.ones(3)}
    state, hyperparams = toys.optimizer(weights, traced=False)

    def updates(weights=weights, **given):
        return hyperparams.apply(gradients, state, weights, **given)[0]["w"].tolist()

    def value_and_gradients(weights):
        return jnp.sum(weights["w"] ** 2), {"w": 2 * weights["w"]}

    found = [
        updates(),
        updates({"w": jnp.ones(3)}),
        updates(value=jnp.asarray(3.0)),
        updates(value_and_gradients=value_and_gradients),
    ]
    assert len(set(map(tuple, found))) == 4
    state, hyperparams = toys.optimizer(weights)
    drawn = hyperparams.apply(gradients, state, weights, key=jax.random.key(3))[0]
    assert (
        drawn["w"].tolist()
        != hyperparams.apply(gradients, state, weights)[0]["w"].tolist()
    )


def test_a_given_layer_may_be_left_uncalled():
    """Its parameters are none of those that a call makes; those of any other are missed."""
    module = SimpleNamespace(structural={"layers": "layers", "skip": "layer"})
    at = ("model", "module")
    params = {
        (*at, "layers_0", "kernel"),
        (*at, "layers_1", "kernel"),
        (*at, "layers_1", "bias"),
        (*at, "skip", "kernel"),
        (*at, "norm", "scale"),
        (*at, "layers_of_mine", "kernel"),
    }
    made = {(*at, "layers_1", "kernel")}
    assert uncalled(module, params, made) == {
        (*at, "layers_0", "kernel"),
        (*at, "skip", "kernel"),
    }
    assert uncalled(SimpleNamespace(), params, made) == set()
