"""Defaults of generated code are those of the spec."""

from __future__ import annotations

import enum
import functools
import inspect

import jax
import jax.numpy as jnp
import pytest

from mlax import functional, schedule
from mlax.block import res_net_block as ResNetBlock
from mlax.nn import conv as Conv
from mlax.optim import adam as Adam
from mlax_scaffold.testing.defaults import (
    assert_defaults,
    assert_function_defaults,
    assert_layer_defaults,
    assert_optimizer_defaults,
    assert_schedule_defaults,
)
from mlax_scaffold.testing.oracle import find_spec

MISSING = inspect.Parameter.empty


def spec(path):
    return find_spec(f"mlax_scaffold/specs/{path}.py", near=__file__)


def with_default(function, name, value):
    """The function with another default of a parameter."""

    @functools.wraps(function)
    def changed(*args, **kwargs):
        return function(*args, **kwargs)

    signature = inspect.signature(function)
    parameters = [
        p.replace(default=value) if p.name == name else p
        for p in signature.parameters.values()
    ]
    vars(changed)["__signature__"] = signature.replace(parameters=parameters)
    return changed


def test_a_layer():
    assert_layer_defaults("Conv", spec("nn/conv"), Conv.init, Conv.fwd)
    for name, value in (("strides", 2), ("use_bias", 1), ("padding_mode", "reflect")):
        init = with_default(Conv.init, name, value)
        with pytest.raises(AssertionError, match=f"Conv: init: {name} is {value!r} by"):
            assert_layer_defaults("Conv", spec("nn/conv"), init, Conv.fwd)
    fwd = with_default(Conv.fwd, "inference_mode", True)
    with pytest.raises(AssertionError, match="Conv: fwd: inference_mode is True by"):
        assert_layer_defaults("Conv", spec("nn/conv"), Conv.init, fwd)


def test_an_initializer_that_is_none():
    given = "ResNetBlock", spec("block/res_net_block")
    assert_layer_defaults(*given, ResNetBlock.init, ResNetBlock.fwd)
    init = with_default(ResNetBlock.init, "kernel_initializer", 0)
    told = "ResNetBlock: init: kernel_initializer is 0 by default, expected None"
    with pytest.raises(AssertionError, match=told):
        assert_layer_defaults(*given, init, ResNetBlock.fwd)


def test_an_optimizer():
    given = "Adam", spec("optim/adam")
    assert_optimizer_defaults(*given, Adam.init, Adam.step)
    init = with_default(Adam.init, "b2", 1)
    with pytest.raises(AssertionError, match="Adam: init: b2 is 1 by default"):
        assert_optimizer_defaults(*given, init, Adam.step)
    step = with_default(Adam.step, "key", 0)
    with pytest.raises(AssertionError, match="Adam: step: key is 0 by default"):
        assert_optimizer_defaults(*given, Adam.init, step)


def test_a_function_and_a_schedule():
    function = functional.l2_norm
    assert_function_defaults("l2_norm", spec("functional/l2_norm"), function)
    other = with_default(function, "keepdims", True)
    with pytest.raises(AssertionError, match="l2_norm: keepdims is True by default"):
        assert_function_defaults("l2_norm", spec("functional/l2_norm"), other)
    given = "Cosine", spec("schedule/cosine")
    assert_schedule_defaults(*given, schedule.Cosine)
    changed = with_default(schedule.Cosine, "alpha", 2)
    with pytest.raises(AssertionError, match="Cosine: alpha is 2 by default"):
        assert_schedule_defaults(*given, changed)  # pyright: ignore[reportArgumentType]


class One(enum.Enum):
    A = 1


class Two(enum.Enum):
    A = 1
    B = 2


def test_what_is_the_same():
    def f(a=One.A, b=jnp.tanh, c=1, d=True, *, e):
        return a, b, c, d, e

    same = {"a": Two.A, "b": jax.numpy.tanh, "c": 1.0, "d": True, "e": MISSING}
    assert_defaults("f", f, same)
    for name, other in (("a", Two.B), ("b", jnp.sin), ("c", True), ("d", 1)):
        with pytest.raises(AssertionError, match=f"f: {name} is"):
            assert_defaults("f", f, {name: other})
    with pytest.raises(AssertionError, match="f: e is not there by default"):
        assert_defaults("f", f, {"e": None})
