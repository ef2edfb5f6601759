"""What takes means or sums over mapped axes is tried on several devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from mlax import functional
from mlax_scaffold.testing import layer_claims
from mlax_scaffold.testing.axes import mapped_over, names_of
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.contract import Claim
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.kinds import function
from mlax_scaffold.testing.oracle import find_spec
from mlax_scaffold.testing.strategies import axis_names, optional

SPEC = find_spec("mlax_scaffold/specs/functional/mean.py", near=__file__)


def test_names_are_those_of_all_values():
    assert names_of([None, "a", ("b", "a")]) == ("a", "b")


def test_each_device_has_the_same():
    x = jnp.arange(3.0)
    total = mapped_over(("a", "b"), lambda: lax.psum(x, ("a", "b")))
    assert total.tolist() == [0.0, 4.0, 8.0]
    with pytest.raises(ValueError, match="mapped output"):
        mapped_over(("a",), lambda: x + lax.axis_index("a"))
    assert jax.jit(lambda: mapped_over((), lambda: x))().shape == (3,)


def contract(run):
    @function("mean", SPEC, run)
    def cases(pick):
        axis_name = pick("axis_name", optional(axis_names()))
        shapes = shapes_of(pick, {"x": "*shape"})
        given = {"axis_name": axis_name}
        inputs = (shapes.array("x"),)
        return Case.of_function(run, inputs, given, axes=(axis_name,), shapes=shapes)

    return cases


def test_a_sum_in_the_place_of_a_mean_is_told():
    claim = Claim(layer_claims.compute_what_the_spec_says)
    contract(functional.mean).keep(claim)

    def mean(x, axis_name=None):
        y = functional.mean(x)
        return y if axis_name is None else lax.psum(y, axis_name)

    with pytest.raises(AssertionError, match="axis_name='devices'"):
        contract(mean).keep(claim)
