"""Copies: claims of them hold for what is equal to its copies, and fail for what is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import pytest

import mlax.graph as bx
from mlax import nn
from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.copies import (
    assert_equal_copies,
    have_a_module_that_equals_its_copies,
)
from mlax_scaffold.testing.dims import shapes_of
from mlax_scaffold.testing.oracle import find_spec
from mlax_scaffold.testing.picks import with_values
from mlax_scaffold.testing.situation import Situation

SPEC = find_spec("scaffold/mlax_scaffold/specs/nn/linear.py", near=__file__)


@dataclasses.dataclass(frozen=True)
class Plain:
    """Equal to its copies."""

    value: Any


class Forgetful(Plain):
    """Not equal to its copies: they lose the value."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "value", None)


class Locked(Plain):
    """It refuses to be copied."""

    def __reduce__(self) -> Any:
        raise TypeError("not this one")


class OnlyDeeply(Plain):
    """A deep copy is equal, and a pickle is not."""

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        object.__setattr__(self, "value", None)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Forgetful(1), "L: a deep copy of its hyperparams is not equal"),
        (Locked(1), "L: a deep copy cannot be made: TypeError"),
        (OnlyDeeply(1), "L: a pickle of its hyperparams is not equal"),
        (OnlyDeeply((Plain(len),)), "L: a pickle of its hyperparams is not equal"),
    ],
)
def test_other_copies_are_told(value: Any, message: str):
    with pytest.raises(AssertionError, match=message):
        assert_equal_copies(value, what="L")


@pytest.mark.parametrize("held", [lambda x: x, ((lambda x: x,),)])
def test_what_has_no_name_needs_no_pickle(held: Any):
    assert_equal_copies(OnlyDeeply(Plain(held)), what="L")


def linear(module: Any) -> Situation:
    """A linear layer with a module class."""

    def make(pick: Any) -> Situation:
        hyperparameters = {
            "in_features": 3,
            "out_features": 4,
            "use_bias": True,
            "precision": None,
            "transposed_kernel": False,
            "dot_general": jax.lax.dot_general,
        }
        shapes = shapes_of(pick, {"x": "*batch in_features"}, hyperparameters)
        case = Case.of_layer(
            "Linear",
            nn.Linear,
            module,
            hyperparameters,
            aliases={"output_size": "out_features"},
            shapes=shapes,
            x=shapes.array("x"),
        )
        return Situation.pick(case, SPEC, pick)

    return with_values(make, {})


class Renamed(bx.Linear):
    """A copy has another size."""

    __module__ = bx.__name__

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state | {"output_size": 5})


class Shared(bx.Linear):
    """A copy has the same nodes."""

    __module__ = bx.__name__

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def test_modules_equal_their_copies():
    have_a_module_that_equals_its_copies(linear(bx.Linear))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (Renamed, r"a deep copy of its module is Renamed\(.*output_size=5"),
        (Shared, "a deep copy of its module has the nodes of the module itself"),
    ],
)
def test_modules_that_differ_are_told(module: Any, message: str):
    with pytest.raises(AssertionError, match=message):
        have_a_module_that_equals_its_copies(linear(module))


def test_a_copy_that_creates_something_else_is_told():
    class Wide(bx.Linear):
        __module__ = bx.__name__

        def __call__(self, params: bx.Params, x: jax.Array, **mode: Any) -> Any:
            y, params = super().__call__(params, x, **mode)
            if vars(self).get("_copied"):
                params = self.set_param(params, "more", y)
            return y, params

        def __setstate__(self, state: dict[str, Any]) -> None:
            super().__setstate__(state | {"_copied": True})

    situation = linear(Wide)
    with pytest.raises(AssertionError, match=r"makes .*'more'"):
        have_a_module_that_equals_its_copies(situation)
