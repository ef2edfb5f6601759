"""What is claimed of keys: each is used once, and asked for where it is used."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters.partial_eval import dce_jaxpr

from mlax_scaffold.testing._functions import abstract_key
from mlax_scaffold.testing.case import Arguments
from mlax_scaffold.testing.keys import (
    assert_key_is_used_once,
    assert_program_uses_keys_once,
)
from mlax_scaffold.testing.oracle import run_spec
from mlax_scaffold.testing.situation import Situation, asks_for_a_key


def use_no_key_twice(situation: Situation) -> None:
    """Neither `fwd` nor `init` draws from a key twice, nor from one that it has split."""
    *arrays, key = situation.arrays
    if key is None and not any(map(_is_key, jax.tree.leaves(arrays))):
        return
    assert_program_uses_keys_once(situation.forward.jaxpr, situation.case.name)


def create_with_each_key_once(situation: Situation) -> None:
    """`init` draws from no key twice."""
    with situation.precision():
        assert_key_is_used_once(
            lambda key: situation.case.init(key, situation.weights_dtype)[:2],
            abstract_key(),
            what=f"{situation.case.name}: init",
        )


def ask_for_a_key_where_it_draws(situation: Situation) -> None:
    """A key is used, and then asked for where it is missing, or it is not needed."""
    case = situation.case
    if not situation.training:
        return
    key = situation.arrays[-1]
    used = key is not None and _is_live(situation.forward.jaxpr)
    asks = situation.missed_key
    if asks and not case.draws_keys:
        raise asks
    if used and not asks and not case.key_optional:
        raise AssertionError(
            f"{case.name} draws random numbers in training, but without a key it "
            "raises no ValueError that says so"
        )


def ask_for_a_key_where_the_spec_does(situation: Situation) -> None:
    """Without a key it does where the spec does, as where nothing is random at a rate of 0."""
    case, training = situation.case, situation.training
    if not case.draws_keys:
        return
    *arrays, _ = situation.arrays

    def declared(args: Any) -> Any:
        return run_spec(case, situation.spec, _given(situation, args), training, None)

    asks = situation.missed_key
    with situation.precision():
        expected = asks_for_a_key(declared, arrays)
    if asks and not expected:
        raise AssertionError(
            f"{situation}: fwd asks for a key, which the spec does not need: {asks}"
        )
    if expected and not asks:
        raise AssertionError(
            f"{situation}: the spec asks for a key, and fwd does not: {expected}"
        )


def _given(situation: Situation, arrays: Any) -> Arguments:
    x, weights, state, inputs = arrays
    return situation.arguments._replace(
        x=x, trainables=weights, non_trainables=state, inputs=inputs
    )


def _is_live(closed: Any) -> bool:
    """Whether a result depends on the last input."""
    # A key that is split for nothing is not used, in the body of a loop neither.
    kept = [True] * len(closed.jaxpr.outvars)
    _, used = dce_jaxpr(closed.jaxpr, kept)
    return used[-1]


def _is_key(value: Any) -> bool:
    return jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
