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


REUSED = [
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


USED_ONCE = [noise, branches, parts, scanned_over, folded, lambda x, key: x]


@pytest.mark.parametrize("function", REUSED)
def test_a_key_that_is_used_twice_is_found(function: Callable):
    with pytest.raises(AssertionError, match="it uses a PRNG key twice"):
        assert_key_is_used_once(function, X, KEY, what="it")


@pytest.mark.parametrize("function", USED_ONCE)
def test_keys_that_are_used_once_pass(function: Callable):
    assert_key_is_used_once(function, X, KEY, what="it")
