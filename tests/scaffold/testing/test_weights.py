"""The contract of weights that do not fit: it holds for correct layers, and fails for broken ones."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import pytest
from handmade_layers import LINEAR, linear_fwd

from mlax import nn
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.weights import assert_rejects_other_weights

NORM = Case(
    "BatchNorm",
    lambda key, dtype: nn.BatchNorm.init(key, 3, use_bias=False, dtype=dtype),
    nn.BatchNorm.fwd,
    jax.ShapeDtypeStruct((4, 3), jnp.float32),
)


def with_fwd(fwd):
    return dataclasses.replace(NORM, fwd=fwd)


def test_a_layer_that_refuses():
    assert_rejects_other_weights(NORM)


def test_a_layer_that_looks_at_nothing():
    case = dataclasses.replace(LINEAR, fwd=lambda x, *args, **kwargs: (x, None))
    with pytest.raises(AssertionError, match="Linear takes None at trainables"):
        assert_rejects_other_weights(case)
    with pytest.raises(AssertionError, match="Linear fails with None at trainables"):
        assert_rejects_other_weights(dataclasses.replace(LINEAR, fwd=linear_fwd))


def spared(name):
    """A layer that takes whatever stands in one place of its trees."""

    def fwd(x, trainables, non_trainables, hyperparams, **kwargs):
        fitting, state, _ = jax.eval_shape(
            lambda: NORM.init(jax.random.key(0), jnp.float32)
        )
        trees = {"trainables": trainables, "non_trainables": non_trainables}
        for root, right in (("trainables", fitting), ("non_trainables", state)):
            if name == root:
                trees[root] = right
            elif hasattr(right, name) and type(trees[root]) is type(right):
                trees[root] = trees[root]._replace(**{name: getattr(right, name)})
        weights, state = trees["trainables"], trees["non_trainables"]
        return jax.eval_shape(
            lambda x: nn.BatchNorm.fwd(x, weights, state, hyperparams), x
        )

    return fwd


@pytest.mark.parametrize("name", ["scale", "bias", "mean", "var"])
def test_each_place_is_looked_at(name):
    with pytest.raises(AssertionError, match=f"BatchNorm (takes|fails).*at '{name}'"):
        assert_rejects_other_weights(with_fwd(spared(name)))


@pytest.mark.parametrize("root", ["trainables", "non_trainables"])
def test_each_tree_is_looked_at(root):
    with pytest.raises(AssertionError, match=f"BatchNorm (takes|fails).* at {root}"):
        assert_rejects_other_weights(with_fwd(spared(root)))


def test_an_error_names_the_place():
    def fwd(*args, **kwargs):
        try:
            return nn.BatchNorm.fwd(*args, **kwargs)
        except ValueError as error:
            raise ValueError("BatchNorm: something does not fit") from error

    with pytest.raises(AssertionError, match="does not say trainables"):
        assert_rejects_other_weights(with_fwd(fwd))
