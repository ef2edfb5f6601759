"""Inputs of several dtypes, and those of too few axes, are claimed to be refused."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from mlax import functional, loss
from mlax_scaffold.testing import layer_refusals
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import Claim
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.kinds import function
from mlax_scaffold.testing.oracle import find_spec
from mlax_scaffold.testing.strategies import booleans


def of_hinge(run):
    """The contract of a loss of two floating inputs, of `run` in its place."""
    spec = find_spec("mlax_scaffold/specs/loss/hinge_loss.py", near=__file__)
    run.__name__ = "hinge_loss"

    @function("hinge_loss", spec, run)
    def cases(pick):
        shapes = shapes_of(pick, {"predictions": "*shape", "targets": "*shape"})
        inputs = shapes.array("predictions"), shapes.array("targets")
        return Case.of_function(run, inputs, {}, shapes=shapes)

    return cases


def test_inputs_of_several_dtypes():
    claim = Claim(layer_refusals.refuse_mixed_dtypes)
    of_hinge(loss.hinge_loss).keep(claim)

    def promotes(predictions, targets):
        dtype = jnp.result_type(predictions, targets)
        return loss.hinge_loss(predictions.astype(dtype), targets.astype(dtype))

    with pytest.raises(AssertionError, match="takes predictions of float32, expected"):
        of_hinge(promotes).keep(claim)


def of_pool(run):
    """The contract of a pool over two axes, of `run` in its place."""
    spec = find_spec("mlax_scaffold/specs/functional/sum_pool.py", near=__file__)
    run.__name__ = "sum_pool"

    @function("sum_pool", spec, run)
    def cases(pick):
        given = {
            "window": (1, 1),
            "spatial_dims": 2,
            "channel_last": pick("channel_last", booleans()),
        }
        pattern = "*batch *spatial channels if channel_last else *batch *spatial"
        shapes = shapes_of(pick, {"x": pattern}, given)
        return Case.of_function(run, (shapes.array("x"),), given, shapes=shapes)

    return cases


def test_inputs_of_too_few_axes():
    claim = Claim(layer_refusals.refuse_other_shapes)
    of_pool(functional.sum_pool).keep(claim)

    def of_any_rank(x, **given):
        if x.ndim == 2 and given["channel_last"]:
            return functional.sum_pool(x[..., None], **given)[..., 0]
        return functional.sum_pool(x, **given)

    with pytest.raises(AssertionError, match=r"sum_pool takes x of \(\d, \d\)"):
        of_pool(of_any_rank).keep(claim)
