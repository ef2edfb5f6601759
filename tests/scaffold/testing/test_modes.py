"""Contracts of training and inference: they hold for correct layers, and fail for broken ones."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import pytest
from handmade_layers import CASES, LINEAR, linear_fwd

from mlax_scaffold.testing.modes import (
    assert_module_rejects_other_modes,
    assert_rejects_other_modes,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_layers_that_refuse_what_is_no_mode(case):
    assert_rejects_other_modes(case)


def any_mode(x, trainables, state, hyperparams, inference_mode=False, key=None):
    return jnp.where(inference_mode is None, x, 0), None


def truth(x, trainables, state, hyperparams, inference_mode=False, key=None):
    return (x if inference_mode else 0 * x), None


def numpy_too(x, trainables, state, hyperparams, inference_mode=False, key=None):
    if type(inference_mode).__name__ not in ("bool", "bool_"):
        raise TypeError("Linear: inference_mode must be static")
    return x, None


def infers(x, trainables, state, hyperparams, inference_mode=True, key=None):
    return linear_fwd(x, trainables, state, hyperparams, inference_mode)


def silent(x, trainables, state, hyperparams, inference_mode=False, key=None):
    if inference_mode is not True and inference_mode is not False:
        raise TypeError("no")


@pytest.mark.parametrize(
    ("fwd", "message"),
    [
        (any_mode, "Linear takes inference_mode=None, expected a TypeError"),
        (truth, "Linear takes inference_mode=None"),
        (numpy_too, "Linear takes inference_mode=.*True"),
        (infers, "inference_mode is True by default, expected False"),
        (silent, "which does not say Linear and inference_mode"),
    ],
)
def test_layers_that_take_what_is_no_mode(fwd, message):
    with pytest.raises(AssertionError, match=message):
        assert_rejects_other_modes(dataclasses.replace(LINEAR, fwd=fwd))


def test_modules_of_the_library():
    """The contract sees a module that infers by default, or that takes any truth."""
    import mlax.graph as bx

    class Infers(bx.F):
        def __call__(self, params, x, *, is_training=False):
            return super().__call__(params, x, is_training=is_training)

    class Truth(bx.F):
        def __call__(self, params, x, *, is_training=True):
            return super().__call__(params, x, is_training=bool(is_training))

    for kind, message in ((Infers, "is_training is False"), (Truth, "Truth takes")):

        def module(node, rng, kind=kind):
            return kind(node, jnp.tanh)

        case = dataclasses.replace(LINEAR, module=module, module_class=bx.F)
        with pytest.raises(AssertionError, match=message):
            assert_module_rejects_other_modes(case)
