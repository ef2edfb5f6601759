"""The contract of PRNG keys: none is used twice. Judged on jaxprs, without the spec.

`jax.debug_key_reuse` follows typed keys through compiled functions and the bodies of loops. What it does not
see are numbers that are folded into one key twice. Everything here only traces.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from mlax_scaffold.testing._functions import abstract_key
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.dtypes import precision_for
from mlax_scaffold.testing.module import call_module, make_module
from mlax_scaffold.testing.optimizer import (
    OptimizerCase,
    declared_dtypes,
    inputs_of_step,
    trees,
)

PyTree = Any


def assert_key_is_used_once(
    function: Callable[..., Any], *args: Any, what: str
) -> None:
    """No key is drawn from or split twice, those that are split off it included.

    Args:
        function: of arrays and typed keys.
        *args: what it is traced on, arrays or `jax.ShapeDtypeStruct`.
        what: what the message calls it.
    """
    with jax.debug_key_reuse(True):
        try:
            jax.jit(function).trace(*args)
        except jax.errors.KeyReuseError as error:
            raise AssertionError(
                f"{what} uses a PRNG key twice, so that it draws the same numbers: {error}"
            ) from error


def assert_keys_used_once(case: Case) -> None:
    """`init` uses no key twice, nor does `fwd`, in training and at inference."""
    key = abstract_key()
    with precision_for(jnp.float32, *case.allow):
        assert_key_is_used_once(
            lambda key: case.init(key, jnp.float32)[:2], key, what=f"{case.name}: init"
        )
        if not case.draws_keys:
            return
        x, trainables, state, hyperparams, inputs = case.abstract_arguments(
            jnp.float32, jnp.float32
        )

        def fwd(inference: bool, key: Any, inputs: Any, *given: Any) -> Any:
            return case.fwd(
                *given, hyperparams, inference_mode=inference, key=key, **inputs
            )

        for inference in (False, True):
            assert_key_is_used_once(
                functools.partial(fwd, inference),
                *(key, inputs, x, trainables, state),
                what=f"{case.name} {'at inference' if inference else 'in training'}",
            )


def assert_function_keys_used_once(case: Case) -> None:
    """A function that takes a key uses it once."""
    arguments = case.abstract_arguments(jnp.float32, jnp.float32)
    with precision_for(jnp.float32, *case.allow):
        assert_key_is_used_once(
            lambda x: case.call(arguments._replace(x=x)), arguments.x, what=case.name
        )


def assert_optimizer_keys_used_once(case: OptimizerCase) -> None:
    """`step` uses no key twice, and each weight has a key of its own."""
    params = trees()["dict"]
    with precision_for(jnp.float32, *declared_dtypes(case)):
        state, hyperparams = jax.eval_shape(case.init, params)

        def step(gradients: Any, state: Any, params: Any, key: Any) -> Any:
            inputs = inputs_of_step(gradients, params) | {"key": key}
            given = case.given(gradients)
            return case.step(given, state, params, hyperparams, **inputs)

        assert_key_is_used_once(
            step, params, state, params, abstract_key(), what=case.name
        )


def assert_module_keys_used_once(case: Case, graph: Any) -> None:
    """The module uses no key twice, neither where it creates its parameters nor later.

    Its `Rng` never sees one counter twice: it would give the same key.
    """
    module, rng, params = make_module(case, graph)
    what = f"{case.name}: its module"
    with precision_for(jnp.float32, *case.allow):
        arguments = case.abstract_arguments(jnp.float32, jnp.float32)
        counters: list[Any] = []

        def twice(params: Any, x: PyTree, inputs: PyTree) -> Any:
            first, params = call_module(case, module, params, True, x, inputs)
            if not case.draws_keys:
                return first
            return first, call_module(case, module, params, True, x, inputs)[0]

        draw = type(rng).__call__

        def noted(self: Any, params: Any) -> Any:
            counters.append(self.get_counter(params))
            return draw(self, params)

        try:
            type(rng).__call__ = noted
            assert_key_is_used_once(
                twice, params, arguments.x, arguments.inputs, what=what
            )
        finally:
            type(rng).__call__ = draw
    if len({id(counter) for counter in counters}) < len(counters):
        raise AssertionError(
            f"{what} takes {len(counters)} keys from its Rng, and some of them with the "
            "same counter: they are the same key"
        )
