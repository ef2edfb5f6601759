"""Contracts of training and inference: the default, and what is neither."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.module import call_module, make_module

NEITHER = (None, 0, 1, 1.0, "True", (), np.True_, np.False_, np.asarray(True))
"""Values that Python takes for true or false, and that are not True or False."""


def assert_rejects_other_modes(case: Case) -> None:
    """An `inference_mode` other than True and False is a TypeError, and False is the default.

    A key in its place is one, and so is a traced one. So it is compiled and eager.
    """
    x, trainables, non_trainables, hyperparams, inputs = case.arguments(jnp.float32)
    trees = x, trainables, non_trainables, inputs

    def call(trees: Any, mode: Any) -> Any:
        x, trainables, non_trainables, inputs = trees
        given = x, trainables, non_trainables, hyperparams
        return case.on_devices(lambda: case.fwd(*given, inference_mode=mode, **inputs))

    _assert_default(case.name, case.fwd, "inference_mode", False)
    _assert_refused(case.name, call, trees, "inference_mode")


def assert_module_rejects_other_modes(case: Case) -> None:
    """An `is_training` other than True and False is a TypeError, and True is the default.

    A key in its place is one, and so is a traced one. So it is compiled and eager.
    """
    module, _, params = make_module(case)
    arguments = case.arguments(jnp.float32)

    def call(trees: Any, mode: Any) -> Any:
        params, *arrays = trees
        return call_module(case, module, params, mode, *arrays)

    name = type(module).__name__
    _assert_default(name, module.__call__, "is_training", True)
    _assert_refused(name, call, (params, arguments.x, arguments.inputs), "is_training")


def _assert_default(owner: str, function: Any, name: str, expected: bool) -> None:
    parameter = inspect.signature(function).parameters[name]
    if parameter.default is not expected:
        raise AssertionError(
            f"{owner}: {name} is {parameter.default} by default, expected {expected}: "
            "what is not told does train"
        )


def _assert_refused(
    owner: str, call: Callable[[Any, Any], Any], trees: Any, name: str
) -> None:
    key = jax.random.key(0)
    flag = jax.ShapeDtypeStruct((), np.bool_)
    for mode in (*NEITHER, jnp.asarray(True), key, jax.random.key_data(key)):
        _assert_raises(owner, lambda m=mode: call(trees, m), name, mode)
        compiled = lambda m=mode: jax.eval_shape(lambda trees: call(trees, m), trees)  # noqa: E731
        _assert_raises(owner, compiled, name, mode)
    traced = lambda: jax.eval_shape(call, trees, flag)  # noqa: E731
    _assert_raises(owner, traced, name, "a traced flag", "static")


def _assert_raises(
    owner: str, call: Callable[[], Any], name: str, given: Any, *said: str
) -> None:
    try:
        call()
    except TypeError as error:
        missing = [part for part in (owner, name, *said) if part not in str(error)]
        if missing:
            raise AssertionError(
                f"{owner} refuses {name}={given!r} with {error!r}, which does not say "
                f"{' and '.join(missing)}"
            ) from error
        return
    raise AssertionError(f"{owner} takes {name}={given!r}, expected a TypeError")
