"""The contract of keys finds a key that is used twice, wherever it is, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from mlax_scaffold.testing.keys import assert_key_is_used_once

KEY = jax.eval_shape(lambda: jax.random.key(0))
X = jax.ShapeDtypeStruct((3, 4), jnp.float32)


def noise(x: Any, key: Any) -> Any:
    return x + jax.random.normal(key, x.shape, x.dtype)


def scanned(x: Any, key: Any) -> Any:
    return lax.scan(lambda x, _: (noise(x, key), None), x, length=3)[0]


def same_part(x: Any, key: Any) -> Any:
    parts = jax.random.split(key, 3)
    return noise(noise(x, parts[1]), parts[1])


def part_of_used(x: Any, key: Any) -> Any:
    return noise(noise(x, key), jax.random.split(key)[0])


def in_a_carry(x: Any, key: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: (noise(c[0], c[1]), c[1]), (x, key))[0]


def compiled(x: Any, key: Any) -> Any:
    return jax.jit(noise)(jax.checkpoint(noise)(x, key), key)


def stacked(x: Any, key: Any) -> Any:
    return lax.scan(lambda x, k: (noise(x, k), None), x, jnp.stack([key, key]))[0]


def turned(x: Any, key: Any) -> Any:
    draws = jax.random.split(key, (3, 2))
    return noise(noise(x, draws[0, 1]), draws.T[::-1][0, 0])


def broadcast(x: Any, key: Any) -> Any:
    return jax.vmap(noise)(x, jnp.broadcast_to(key, len(x)))


def either(x: Any, key: Any) -> Any:
    one, other = jax.random.split(key)
    return noise(noise(x, jnp.where(jnp.any(x > 0), one, other)), other)


def after_a_branch(x: Any, key: Any) -> Any:
    return noise(lax.cond(jnp.any(x > 0), noise, lambda x, key: x, x, key), key)


def folded_twice(x: Any, key: Any) -> Any:
    fold = jax.random.fold_in
    return noise(noise(x, fold(key, 1)), fold(key, 1))


def while_it_holds(x: Any, key: Any) -> Any:
    return lax.while_loop(lambda x: jnp.any(x < 9.0), lambda x: noise(x, key), x)


def with_a_derivative_of_its_own(x: Any, key: Any) -> Any:
    @jax.custom_jvp
    def run(x: Any) -> Any:
        return noise(noise(x, key), key)

    run.defjvps(lambda tangent, y, x: tangent)
    return run(x)


def the_last_of_several(x: Any, key: Any) -> Any:
    draws = jax.random.split(key, 5)
    x = lax.scan(lambda x, draw: (noise(x, draw), None), x, draws)[0]
    return noise(x, draws[-1])


REUSED = [
    stacked,
    turned,
    broadcast,
    either,
    after_a_branch,
    folded_twice,
    while_it_holds,
    with_a_derivative_of_its_own,
    the_last_of_several,
    lambda x, key: noise(noise(x, key), key),
    scanned,
    same_part,
    part_of_used,
    in_a_carry,
    compiled,
]


def branches(x: Any, key: Any) -> Any:
    return lax.cond(jnp.any(x > 0), noise, lambda x, key: noise(-x, key), x, key)


def parts(x: Any, key: Any) -> Any:
    for part in jax.random.split(key, 3):
        x = noise(x, part)
    return x


def scanned_over(x: Any, key: Any) -> Any:
    draws = jax.random.split(key, 3)
    return lax.scan(lambda x, draw: (noise(x, draw), None), x, draws)[0]


def folded(x: Any, key: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        return noise(x, jax.random.fold_in(key, i))

    return lax.fori_loop(0, 3, step, x)


def mapped_loops(x: Any, key: Any) -> Any:
    return jax.vmap(scanned_over)(x, jax.random.split(key, len(x)))


def stacked_parts(x: Any, key: Any) -> Any:
    one, other = jax.random.split(key)
    draws = jnp.stack([one, other])[::-1]
    return lax.scan(lambda x, draw: (noise(x, draw), None), x, draws)[0]


def by_number(x: Any, key: Any) -> Any:
    draws = jax.random.split(key, 3)
    return lax.fori_loop(0, 3, lambda i, x: noise(x, draws[i]), x)


def chained(x: Any, key: Any) -> Any:
    def step(carry: Any) -> Any:
        x, key = carry
        key, draw = jax.random.split(key)
        return noise(x, draw), key

    return lax.while_loop(lambda c: jnp.any(c[0] < 9.0), step, (x, key))[0]


def folded_apart(x: Any, key: Any) -> Any:
    fold = jax.random.fold_in
    return noise(noise(x, fold(key, 1)), fold(key, 2))


USED_ONCE = [
    noise,
    branches,
    parts,
    scanned_over,
    folded,
    lambda x, key: x,
    mapped_loops,
    stacked_parts,
    by_number,
    chained,
    folded_apart,
]


@pytest.mark.parametrize("function", REUSED)
def test_a_key_that_is_used_twice_is_found(function: Callable):
    with pytest.raises(AssertionError, match="it uses a PRNG key twice"):
        assert_key_is_used_once(function, X, KEY, what="it")


@pytest.mark.parametrize("function", USED_ONCE)
def test_keys_that_are_used_once_pass(function: Callable):
    assert_key_is_used_once(function, X, KEY, what="it")
