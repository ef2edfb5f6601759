"""Modules draw other numbers at each place, each call, and each step of a loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import mlax.graph as bx

ONES = jnp.ones((128, 128))


def drop(node: bx.Graph, rng: bx.Rng) -> bx.Dropout:
    return bx.Dropout(node, rate=0.5, rng=rng)


def sequential(node: bx.Graph, rng: bx.Rng) -> Any:
    return bx.Sequential(node, [drop(node.child(f"{i}"), rng) for i in range(3)])


def series(node: bx.Graph, rng: bx.Rng) -> Any:
    layers = [drop(node.child(f"{i}"), rng) for i in range(3)]
    return bx.Series(node.child("series"), layers, rng=rng)


def nested(node: bx.Graph, rng: bx.Rng) -> Any:
    inner = [drop(node.child(f"{i}"), rng) for i in range(2)]
    block = bx.Series(node.child("inner"), inner, rng=rng)
    return bx.Sequential(node, [drop(node.child("first"), rng), block])


def repeat(node: bx.Graph, rng: bx.Rng) -> Any:
    layer = drop(node.child("layer"), rng)
    return bx.Repeat(node.child("repeat"), layer, depth=3, rng=rng)


def shared(node: bx.Graph, rng: bx.Rng) -> Any:
    return bx.Sequential(node, [drop(node.child("one"), rng)] * 3)


@pytest.mark.parametrize("make", [sequential, series, nested, repeat, shared])
def test_each_place_draws_for_itself(make: Any):
    root = bx.Graph("model")
    rng = bx.Rng(root.child("rng"))
    module = make(root.child("module"), rng)
    y, _ = module(rng.seed(bx.Params(), seed=1), ONES, is_training=True)
    assert_survivors(y, 3)


@pytest.mark.parametrize("scan", [bx.static_scan, bx.dynamic_scan])
def test_each_step_of_a_loop_draws_for_itself(scan: Any):
    root = bx.Graph("model")
    rng = bx.Rng(root.child("rng"))
    module = drop(root.child("drop"), rng)

    def step(carry: Any, _: Any) -> Any:
        x, params = carry
        return module(params, x, is_training=True), None

    params = rng.seed(bx.Params(), seed=1).locked()
    (y, after), _ = scan(step, (ONES, params), jnp.arange(3))
    assert_survivors(y, 3)
    assert int(rng.get_counter(after)) == 3


def assert_survivors(y: jax.Array, draws: int) -> None:
    """As many elements are left as independent draws leave: within 6 deviations."""
    expected = 0.5**draws
    allowed = 6 * (expected * (1 - expected) / y.size) ** 0.5
    assert abs(float(jnp.mean(y != 0)) - expected) < allowed
