"""Where inputs may be of integers, results are claimed to be, and all that is between."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from handmade_layers import situation as situation_of

from mlax import functional
from mlax_scaffold.testing import layer_claims
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import Claim
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.kinds import function
from mlax_scaffold.testing.oracle import find_spec


def of_max(run):
    """The contract of a maximum, of `run` in its place."""
    spec = find_spec("mlax_scaffold/specs/functional/max.py", near=__file__)
    run.__name__ = "max"

    @function("max", spec, run)
    def cases(pick):
        shapes = shapes_of(pick, {"x": "rows columns"})
        x = (shapes.array("x", integers=True),)
        return Case.of_function(run, x, {}, shapes=shapes)

    return cases


def in_between(x):
    wide = functional.max(x.astype(jnp.float32))
    return wide.astype(x.dtype) if x.dtype == jnp.int32 else functional.max(x)


def result(x):
    y = functional.max(x)
    return y.astype(jnp.int32) if x.dtype == jnp.uint8 else y


def wrong(x):
    y = functional.max(x)
    return -y if x.dtype == jnp.int32 else y


def test_integers_stay_integers():
    claim = Claim(layer_claims.keep_integers)
    of_max(functional.max).keep(claim)
    with pytest.raises(AssertionError, match="y is int32, expected uint8, the dtype"):
        of_max(result).keep(claim)
    with pytest.raises(AssertionError, match=r"(?s)inputs in int32.*float32"):
        of_max(in_between).keep(claim)
    with pytest.raises(AssertionError, match="inputs in int32"):
        of_max(wrong).keep(claim)


def halves(tokens):
    return (tokens / 2, 0.5 * jnp.ones(tokens.shape))


def halves_of_other_dtype(tokens):
    return (tokens / jnp.asarray(2, jnp.bfloat16),)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float64])
def test_what_is_given_no_dtype_computes_in_the_default_one(dtype):
    tokens = jax.ShapeDtypeStruct((3,), jnp.int32)
    case = Case.of_function(halves, (tokens,), {})
    layer_claims.keep_the_dtype(situation_of(case, dtype))
    wrong = Case.of_function(halves_of_other_dtype, (tokens,), {})
    with pytest.raises(AssertionError, match="is bfloat16, expected float32"):
        layer_claims.keep_the_dtype(situation_of(wrong, dtype))


@pytest.mark.parametrize("reads", [False, True])
def test_weights_that_are_not_read_give_no_dtype(reads):
    def init(key, dtype):
        return jnp.ones(3, dtype), None, ()

    def fwd(tokens, weights, state, hyperparams, inference_mode=False, key=None):
        return (weights * tokens if reads else tokens / 2), state

    tokens = jax.ShapeDtypeStruct((3,), jnp.int32)
    found = situation_of(Case("halves", init, fwd, tokens), jnp.bfloat16)
    assert found.is_given_no_dtype != reads
    layer_claims.keep_the_dtype(found)
