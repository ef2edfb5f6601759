"""Hyperparameters that are dropped or exchanged are told, whatever the spec computes with them."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import pytest

from mlax_scaffold.testing.held import assert_held
from mlax_scaffold.testing.toys import Toy

GIVEN = {
    "features": 3,
    "window": 2,
    "rate": 0.5,
    "use_bias": False,
    "mode": "same",
    "accum_dtype": jnp.dtype("float16"),
    "precision": "highest",
    "groups": None,
    "activation": jax.nn.relu,
    "layer": Toy.one(),
}
HELD = GIVEN | {
    "window": (2, 2),
    "rate": 0.5,
    "accum_dtype": jnp.dtype("float16"),
    "precision": jax.lax.Precision.HIGHEST,
    "layer": SimpleNamespace(),
}


def test_other_forms_of_the_same_are_taken():
    assert_held("Pool", GIVEN, SimpleNamespace(**HELD))


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("features", 4),
        ("rate", 0.0),
        ("use_bias", True),
        ("mode", "valid"),
        ("accum_dtype", jnp.dtype("float32")),
        ("accum_dtype", None),
        ("groups", 1),
        ("groups", (1, 1)),
    ],
)
def test_another_value_is_told(name, held):
    with pytest.raises(
        AssertionError, match=rf"^Pool: {name}=.* was given, and .* hold"
    ):
        assert_held("Pool", GIVEN, SimpleNamespace(**HELD | {name: held}))
