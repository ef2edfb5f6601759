"""The contract of keys finds a key that is used twice, wherever it is, and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import mlax.graph as graph
from mlax.nn import dropout as Dropout
from mlax.optim import noisy_sgd as NoisySgd
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.keys import (
    assert_function_keys_used_once,
    assert_key_is_used_once,
    assert_keys_used_once,
    assert_module_keys_used_once,
    assert_optimizer_keys_used_once,
)
from mlax_scaffold.testing.optimizer import OptimizerCase

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


def layer(draw: Callable[[Any, Any], Any]) -> Case:
    """A layer that draws in training, or, where it can, at inference."""

    def fwd(
        x: Any,
        trainables: Any,
        state: Any,
        hyperparams: Any,
        inference_mode: bool,
        key: Any,
    ) -> Any:
        return (x if inference_mode else draw(x, key)), None

    return Case(
        "Drawing", lambda key, dtype: (None, None, None), fwd, X, draws_keys=True
    )


def test_layers():
    assert_keys_used_once(layer(noise))
    with pytest.raises(AssertionError, match="Drawing in training uses"):
        assert_keys_used_once(layer(scanned))
    both = layer(noise)
    always = dataclasses.replace(
        both, fwd=lambda x, *rest, inference_mode, key: (scanned(x, key), None)
    )
    swapped = dataclasses.replace(
        both,
        fwd=lambda x, *rest, inference_mode, key: (
            scanned(x, key) if inference_mode else x,
            None,
        ),
    )
    with pytest.raises(AssertionError, match="in training"):
        assert_keys_used_once(always)
    with pytest.raises(AssertionError, match="at inference"):
        assert_keys_used_once(swapped)


def test_init_of_a_layer():
    def init(key: Any, dtype: Any) -> Any:
        return noise(jnp.ones(3), key), noise(jnp.ones(3), key), None

    with pytest.raises(AssertionError, match="Drawing: init uses"):
        assert_keys_used_once(dataclasses.replace(layer(noise), init=init))


@pytest.mark.parametrize("function", REUSED[:2])
def test_functions(function: Callable):
    assert_function_keys_used_once(Case.of_function(noise, (X, KEY), {}))
    with pytest.raises(AssertionError, match="twice"):
        assert_function_keys_used_once(Case.of_function(function, (X, KEY), {}))


def test_optimizers():
    case = OptimizerCase(
        "Noisy", lambda p: NoisySgd.init(p, 0.1), NoisySgd.step, needs=("key",)
    )
    assert_optimizer_keys_used_once(case)

    def step(gradients: Any, state: Any, params: Any, hyperparams: Any, **inputs: Any):
        key = inputs["key"]
        return jax.tree.map(lambda g: noise(g, key), gradients), state

    with pytest.raises(AssertionError, match="Noisy uses"):
        assert_optimizer_keys_used_once(dataclasses.replace(case, step=step))


def test_modules(monkeypatch: pytest.MonkeyPatch):
    case = Case(
        "Dropout",
        lambda key, dtype: Dropout.init(),
        Dropout.fwd,
        X,
        draws_keys=True,
        trains=True,
        module=lambda node, rng: graph.Dropout(node, rng=rng),
    )
    assert_module_keys_used_once(case, graph)

    def stuck(self: graph.Rng, params: graph.Params) -> Any:
        return jax.random.fold_in(
            self.get_seed(params), self.get_counter(params)
        ), params

    monkeypatch.setattr(graph.Rng, "__call__", stuck)
    with pytest.raises(AssertionError, match="they are the same key"):
        assert_module_keys_used_once(case, graph)
