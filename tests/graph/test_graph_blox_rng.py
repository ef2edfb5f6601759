"""Seeds and counters, as a program in blox expects them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from graph_blox import differs, same, start

SEED, COUNTER = ("net", "rng", "seed"), ("net", "rng", "counter")


def test_seeding_makes_a_seed_and_a_counter(bx: Any):
    _, _, params = start(bx)
    assert SEED in params
    assert params[COUNTER].value == 0


def test_they_are_not_trainable(bx: Any):
    _, _, params = start(bx)
    assert not params[SEED].trainable
    assert not params[COUNTER].trainable


def test_an_integer_is_the_seed_of_a_key(bx: Any):
    _, rng, params = start(bx, seed=7)
    assert same(rng.get_seed(params), jax.random.key(7))


def test_a_key_is_a_seed(bx: Any):
    graph = bx.Graph("net")
    rng = bx.Rng(graph.child("rng"))
    params = rng.seed(bx.Params(), seed=jax.random.key(9))
    assert same(rng.get_seed(params), jax.random.key(9))


def test_a_first_counter_may_be_given(bx: Any):
    rng = bx.Rng(bx.Graph("net").child("rng"))
    params = rng.seed(bx.Params(), seed=1, counter=5)
    assert rng.get_counter(params) == 5


def test_a_call_counts(bx: Any):
    _, rng, params = start(bx)
    for number in range(3):
        assert rng.get_counter(params) == number
        _, params = rng(params)


def test_a_key_is_the_counter_folded_into_the_seed(bx: Any):
    _, rng, params = start(bx, seed=3)
    _, params = rng(params)
    key, _ = rng(params)
    assert same(key, jax.random.fold_in(jax.random.key(3), 1))


def test_keys_differ_from_call_to_call(bx: Any):
    _, rng, params = start(bx)
    first, params = rng(params)
    second, _ = rng(params)
    assert not same(first, second)


def test_the_same_params_give_the_same_key(bx: Any):
    _, rng, params = start(bx)
    assert same(rng(params)[0], rng(params)[0])


def test_a_call_leaves_its_params_as_they_are(bx: Any):
    _, rng, params = start(bx)
    rng(params)
    assert rng.get_counter(params) == 0


def test_seeding_leaves_its_params_as_they_are(bx: Any):
    _, rng, params = start(bx, seed=1)
    rng.seed(params, seed=2)
    assert same(rng.get_seed(params), jax.random.key(1))


def test_another_counter_keeps_the_seed(bx: Any):
    _, rng, params = start(bx, seed=1)
    params = rng.seed(params, counter=100)
    assert rng.get_counter(params) == 100
    assert same(rng.get_seed(params), jax.random.key(1))


def test_another_seed_keeps_the_counter(bx: Any):
    _, rng, params = start(bx, seed=1)
    _, params = rng(params)
    params = rng.seed(params, seed=2)
    assert rng.get_counter(params) == 1
    assert same(rng.get_seed(params), jax.random.key(2))


def test_both_at_once_begin_anew(bx: Any):
    _, rng, params = start(bx, seed=1)
    _, params = rng(params)
    params = rng.seed(params.locked(), seed=1, counter=0)
    assert same(rng(params)[0], rng(start(bx, seed=1)[2])[0])


@pytest.mark.parametrize("call", ["get_seed", "get_counter", "__call__"])
def test_without_a_seed_there_is_no_key(bx: Any, call: str):
    rng = bx.Rng(bx.Graph("net").child("rng"))
    with pytest.raises(KeyError, match="rng"):
        getattr(rng, call)(bx.Params())


def test_the_first_time_a_seed_is_needed(bx: Any):
    rng = bx.Rng(bx.Graph("net").child("rng"))
    with pytest.raises(ValueError, match="rng"):
        rng.seed(bx.Params(), counter=1)


def nothing_changes(bx: Any) -> None:
    _, rng, params = start(bx)
    assert rng.get_counter(rng.seed(params)) == 0


@differs(pytest.fail.Exception, nothing_changes)
def test_later_something_is_to_be_given(bx: Any):
    _, rng, params = start(bx)
    with pytest.raises(ValueError, match="seed"):
        rng.seed(params)


def test_locked_params_take_no_first_seed(bx: Any):
    rng = bx.Rng(bx.Graph("net").child("rng"))
    with pytest.raises(KeyError, match="locked"):
        rng.seed(bx.Params().locked(), seed=0)


def test_two_generators_have_a_seed_each(bx: Any):
    graph, rng, params = start(bx)
    other = bx.Rng(graph.child("other"))
    params = other.seed(params, seed=0)
    _, params = rng(params)
    assert (rng.get_counter(params), other.get_counter(params)) == (1, 0)
    assert same(rng(rng.seed(params, counter=0))[0], other(params)[0])


def test_a_layer_takes_a_key_for_each_parameter(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=2, rng=rng)
    _, params = layer(params, jnp.ones((1, 3)))
    assert rng.get_counter(params) == 2


def test_and_none_when_they_are_there(bx: Any):
    graph, rng, params = start(bx)
    layer = bx.Linear(graph.child("linear"), output_size=2, rng=rng)
    _, params = layer(params, jnp.ones((1, 3)))
    _, params = layer(params, jnp.ones((1, 3)))
    assert rng.get_counter(params) == 2


def test_it_counts_in_compiled_functions(bx: Any):
    _, rng, params = start(bx)
    key, after = jax.jit(rng)(params)
    assert same(key, rng(params)[0])
    assert rng.get_counter(after) == 1


def test_the_key_is_no_secret_of_the_lanes_of_a_vmap(bx: Any):
    _, rng, params = start(bx)
    keys = jax.vmap(lambda _: jax.random.key_data(rng(params)[0]))(jnp.arange(3))
    assert (keys == keys[0]).all()


def test_lanes_that_fold_in_their_number_have_other_keys(bx: Any):
    _, rng, params = start(bx)

    def key(lane: jax.Array) -> jax.Array:
        own = jax.random.fold_in(rng.get_seed(params), lane)
        return jax.random.key_data(rng(rng.seed(params, seed=own))[0])

    keys = jax.vmap(key)(jnp.arange(3))
    assert len({tuple(map(int, row)) for row in keys}) == 3
