"""Parameters and their container, as a program in blox expects them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_blox import differs, start

KERNEL, BIAS = ("net", "linear", "kernel"), ("net", "linear", "bias")
SEED, COUNTER = ("net", "rng", "seed"), ("net", "rng", "counter")


def linear(bx: Any) -> tuple[Any, Any]:
    """A layer, and params with what it creates."""
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=2, rng=rng)
    return layer, layer(params, jnp.ones((1, 3)))[1]


def test_at_first_there_are_none(bx: Any):
    params = bx.Params()
    assert len(params) == 0
    assert list(params.keys()) == []
    assert not params.is_locked


def test_paths_are_tuples(bx: Any):
    _, params = linear(bx)
    assert set(params.keys()) == {SEED, COUNTER, KERNEL, BIAS}
    assert len(params) == 4


def test_a_path_is_there_or_not(bx: Any):
    _, params = linear(bx)
    assert KERNEL in params
    assert ("net", "linear", "scale") not in params


def test_a_path_leads_to_a_param(bx: Any):
    _, params = linear(bx)
    assert isinstance(params[KERNEL], bx.Param)
    assert params[KERNEL].value.shape == (3, 2)


def test_a_path_that_is_not_there_is_an_error(bx: Any):
    with pytest.raises(KeyError, match="missing"):
        bx.Params()["net", "missing"]


def test_values_and_items_are_params(bx: Any):
    _, params = linear(bx)
    assert all(isinstance(param, bx.Param) for param in params.values())
    assert {path: p.value.shape for path, p in params.items()}[BIAS] == (2,)


def test_locking_makes_others(bx: Any):
    params = bx.Params()
    assert params.locked().is_locked
    assert not params.is_locked
    assert not params.locked().unlocked().is_locked


def test_locking_keeps_values(bx: Any):
    _, params = linear(bx)
    assert params.locked()[KERNEL].value is params[KERNEL].value


def test_locked_ones_take_no_layer(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=2, rng=rng)
    with pytest.raises(KeyError, match="locked"):
        layer(params.locked(), jnp.ones((1, 3)))


def test_unlocked_again_they_do(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=2, rng=rng)
    _, params = layer(params.locked().unlocked(), jnp.ones((1, 3)))
    assert KERNEL in params


def test_locked_ones_may_change(bx: Any):
    layer, params = linear(bx)
    params = layer.set_param(params.locked(), "bias", jnp.ones(2))
    assert params[BIAS].value.sum() == 2.0


def test_splitting_parts_trainable_ones(bx: Any):
    _, params = linear(bx)
    trainable, rest = params.split()
    assert set(trainable.keys()) == {KERNEL, BIAS}
    assert set(rest.keys()) == {SEED, COUNTER}


def test_a_split_may_be_by_path(bx: Any):
    _, params = linear(bx)
    kernels, rest = params.split(lambda path, param: path[-1] == "kernel")
    assert list(kernels.keys()) == [KERNEL]
    assert len(rest) == 3


def test_a_split_may_be_by_param(bx: Any):
    _, params = linear(bx)
    matrices, _ = params.split(lambda path, param: param.value.ndim == 2)
    assert list(matrices.keys()) == [KERNEL]


@pytest.mark.parametrize("locked", [False, True])
def test_parts_are_locked_as_the_whole(bx: Any, locked: bool):
    _, params = linear(bx)
    parts = (params.locked() if locked else params).split()
    assert [part.is_locked for part in parts] == [locked, locked]


def test_merging_gives_the_whole(bx: Any):
    _, params = linear(bx)
    trainable, rest = params.locked().split()
    merged = trainable.merge(rest)
    assert set(merged.keys()) == set(params.keys())
    assert merged.is_locked


def test_merging_leaves_its_parts(bx: Any):
    _, params = linear(bx)
    trainable, rest = params.split()
    trainable.merge(rest)
    assert (len(trainable), len(rest)) == (2, 2)


def update_replaces(bx: Any) -> None:
    _, params = linear(bx)
    zeros = jax.tree.map(jnp.zeros_like, params.split()[0])
    with pytest.raises(ValueError, match="linear"):
        params.merge(zeros)
    assert not params.update(zeros)[KERNEL].value.any()


@differs(ValueError, update_replaces)
def test_merging_replaces(bx: Any):
    _, params = linear(bx)
    zeros = jax.tree.map(jnp.zeros_like, params.split()[0])
    assert not params.merge(zeros)[KERNEL].value.any()


def locked_if_all_are(bx: Any) -> None:
    trainable, rest = linear(bx)[1].split()
    assert not trainable.merge(rest.locked()).is_locked


@differs(pytest.fail.Exception, locked_if_all_are)
def test_merging_takes_locked_or_unlocked_ones(bx: Any):
    trainable, rest = linear(bx)[1].split()
    with pytest.raises(ValueError, match="ocked"):
        trainable.merge(rest.locked())


def add_makes_others(bx: Any) -> None:
    params = bx.Params().add(("net", "kernel"), jnp.ones(2))
    assert params["net", "kernel"].trainable
    assert params.set(("net", "kernel"), jnp.zeros(2))["net", "kernel"].value.sum() == 0


@differs(TypeError, add_makes_others)
def test_a_path_may_be_assigned(bx: Any):
    params = bx.Params()
    params["net", "kernel"] = bx.Param(jnp.ones(2))
    assert params["net", "kernel"].value.sum() == 2.0


def locked_take_no_new(bx: Any) -> None:
    with pytest.raises(RuntimeError, match="locked"):
        bx.Params().locked().add(("net", "kernel"), jnp.ones(2))


@differs(TypeError, locked_take_no_new)
def test_a_path_of_locked_ones_may_not(bx: Any):
    with pytest.raises(RuntimeError, match="lock"):
        bx.Params().locked()["net", "kernel"] = bx.Param(jnp.ones(2))


def test_they_are_a_tree_of_values(bx: Any):
    _, params = linear(bx)
    assert len(jax.tree.leaves(params)) == 4
    shapes = jax.tree.map(jnp.shape, params.split()[0], is_leaf=None)
    assert shapes[KERNEL].value == (3, 2)


def test_mapping_keeps_flags_and_locks(bx: Any):
    _, params = linear(bx)
    doubled = jax.tree.map(lambda x: x + x, params.locked().split()[0])
    assert doubled.is_locked
    assert doubled[KERNEL].trainable
    np.testing.assert_array_equal(doubled[KERNEL].value, 2 * params[KERNEL].value)


def test_compiled_functions_take_and_give_them(bx: Any):
    _, params = linear(bx)
    after = jax.jit(lambda p: p)(params.locked())
    assert after.is_locked
    assert set(after.keys()) == set(params.keys())
    assert not after[COUNTER].trainable


def test_gradients_are_structured_like_them(bx: Any):
    layer, params = linear(bx)
    trainable, rest = params.split()
    grads = jax.grad(lambda t: layer(t.merge(rest), jnp.ones((1, 3)))[0].sum())(
        trainable
    )
    assert jax.tree.structure(grads) == jax.tree.structure(trainable)
    assert grads[BIAS].value.tolist() == [1.0, 1.0]


def test_shapes_need_no_arrays(bx: Any):
    graph, rng, _ = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=2, rng=rng)

    def init(x: jax.Array) -> Any:
        return layer(rng.seed(bx.Params(), seed=0), x)[1].locked()

    params = jax.eval_shape(init, jnp.ones((1, 3)))
    assert params[KERNEL].value == jax.ShapeDtypeStruct((3, 2), jnp.float32)


def test_it_is_shown_whether_they_are_locked(bx: Any):
    assert "unlocked" in repr(bx.Params())
    assert "unlocked" not in repr(bx.Params().locked())
    assert "locked" in repr(bx.Params().locked())


def test_a_param_is_trainable_and_has_no_metadata_at_first(bx: Any):
    param = bx.Param(jnp.ones(2))
    assert param.trainable
    assert dict(param.metadata) == {}


def test_a_param_is_replaced_in_part(bx: Any):
    param = bx.Param(jnp.ones(2), metadata={"tag": "a"})
    other = param.replace(trainable=False)
    assert (param.trainable, other.trainable) == (True, False)
    assert other.value is param.value
    assert other.metadata["tag"] == "a"


def test_the_flag_of_a_param_is_a_bool(bx: Any):
    with pytest.raises(TypeError, match="trainable"):
        bx.Param(jnp.ones(2), trainable="yes")


def test_the_metadata_of_a_param_are_a_dictionary(bx: Any):
    with pytest.raises(TypeError, match="metadata"):
        bx.Param(jnp.ones(2), metadata=["tag"])


def test_a_param_is_a_tree_of_its_value(bx: Any):
    param = bx.Param(jnp.ones(2), trainable=False, metadata={"tag": "a"})
    other = jax.tree.map(lambda x: x + 1, param)
    assert jax.tree.leaves(param)[0] is param.value
    assert (other.trainable, other.metadata["tag"]) == (False, "a")


def test_sharding_is_what_the_metadata_say(bx: Any):
    param = bx.Param(jnp.ones((2, 2)), metadata={"sharding": (None, "model")})
    assert param.sharding == (None, "model")


def test_sharding_is_nothing_at_first(bx: Any):
    assert tuple(bx.Param(jnp.ones(2)).sharding) == ()
