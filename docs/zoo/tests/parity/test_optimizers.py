"""Optimizers make the steps that their papers say, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from made import assert_same, drawn
from mlax_scaffold.testing.dtypes import x64
from mlax_scaffold.testing.programs import quick

from references.adai import adai
from references.adamp import adamp
from references.adashift import adashift
from references.aggmo import aggmo
from references.laprop import laprop
from references.nosadam import nosadam
from references.pid import pid
from references.qhadam import qhadam
from references.ranger import ranger
from references.shampoo import shampoo
from references.swats import swats
from zoo import optim

Steps = Callable[..., Iterator[np.ndarray]]

OPTIMIZERS: dict[str, tuple[Any, Steps, dict[str, Any]]] = {
    "adamp": (optim.AdamP, adamp, {"weight_decay": 0.1, "delta": 1.0}),
    "adamp with nesterov": (optim.AdamP, adamp, {"nesterov": True}),
    "adashift": (optim.AdaShift, adashift, {"keep": 3}),
    "aggmo": (optim.AggMo, aggmo, {"betas": (0.0, 0.5, 0.9, 0.99)}),
    "laprop": (optim.LaProp, laprop, {"weight_decay": 0.1}),
    "nosadam": (optim.NosAdam, nosadam, {}),
    "pid": (optim.PID, pid, {}),
    "qhadam": (optim.QHAdam, qhadam, {"nu2": 0.9}),
    "ranger": (optim.Ranger, ranger, {"k": 2, "alpha": 0.25}),
    "shampoo": (optim.Shampoo, shampoo, {"weight_decay": 0.1, "epsilon": 0.1}),
    "swats": (optim.SWATS, swats, {}),
    "swats that switches": (optim.SWATS, swats, {"epsilon": 0.1}),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("shape", [(3, 4), (5,)])
def test_steps(name, shape):
    module, reference, options = OPTIMIZERS[name]
    weight, gradients = drawn(*shape), [drawn(*shape, seed=n) for n in range(6)]
    with x64():
        state, hyperparams = module.init(
            {"w": jnp.asarray(weight)}, learning_rate=0.1, **options
        )
        step = jax.jit(module.step, compiler_options=quick())
        weights, found = {"w": jnp.asarray(weight)}, []
        for gradient in gradients:
            given = {"w": jnp.asarray(gradient)}
            updates, state = step(given, state, weights, hyperparams)
            weights = optim.apply_updates(weights, updates)
            found.append(np.asarray(weights["w"]))
    assert_same(found, list(reference(weight, gradients, 0.1, **options)), 1e-7)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_have_the_dtype_of_weights(name):
    module, _, options = OPTIMIZERS[name]
    weights = {"w": jnp.ones((3, 4), jnp.bfloat16)}
    state, hyperparams = module.init(weights, learning_rate=0.1, **options)
    updates, new = jax.eval_shape(module.step, weights, state, weights, hyperparams)
    assert updates["w"].dtype == jnp.bfloat16
    before, after = (
        [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(tree)]
        for tree in (state, new)
    )
    assert before == after


def test_the_inertia_of_adai_is_relative_to_all_weights():
    first, second = drawn(3, 4), drawn(5)
    gradients = [(drawn(3, 4, seed=n), 3 * drawn(5, seed=n)) for n in range(1, 6)]
    with x64():
        weights = {"a": jnp.asarray(first), "b": jnp.asarray(second)}
        state, hyperparams = optim.Adai.init(weights, learning_rate=0.1)
        step = jax.jit(optim.Adai.step, compiler_options=quick())
        found = []
        for a, b in gradients:
            given = {"a": jnp.asarray(a), "b": jnp.asarray(b)}
            updates, state = step(given, state, weights, hyperparams)
            weights = optim.apply_updates(weights, updates)
            found += [np.asarray(weights["a"]), np.asarray(weights["b"])]
    expected = [p for ps in adai([first, second], gradients, 0.1) for p in ps]
    assert_same(found, expected, 1e-6)
