"""Layers whose gradient is meant not to be the derivative are compared with their spec."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from mlax_scaffold.testing.case import Case
from mlax_scaffold.testing.layer_claims import have_the_derivatives_of_the_spec
from mlax_scaffold.testing.layer_gradients import assert_gradients
from mlax_scaffold.testing.oracle import Spec
from mlax_scaffold.testing.situation import Situation

SPEC = '''
import jax
import jax.numpy as jnp

from mlax_scaffold.spec import Float, Layer, ones, trainable


class Rounded(Layer, surrogate_gradient=True):
    """Rounds, with the gradient of the identity."""

    def setup(self):
        self.scale = trainable(ones, (3,))

    def forward(self, x: Float["..."]) -> Float["..."]:
        y = x * self.scale
        return y + jax.lax.stop_gradient(jnp.round(y) - y)
'''


def case(rounded) -> Case:
    def fwd(x, trainables, non_trainables, hyperparams, inference_mode=False, key=None):
        return rounded(x * trainables["scale"]), non_trainables

    def init(key, dtype):
        return {"scale": jnp.ones(3, dtype)}, None, None

    return Case("Rounded", init, fwd, jax.ShapeDtypeStruct((2, 3), jnp.float32))


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    path = tmp_path / "rounded.py"
    path.write_text(SPEC, encoding="utf-8")
    return Spec(path, tmp_path)


def situation(rounded, spec: Spec) -> Situation:
    single = jnp.dtype(jnp.float32)
    return Situation(case(rounded), spec, single, single, training=True)


def through(y):
    return y + jax.lax.stop_gradient(jnp.round(y) - y)


def test_the_gradient_of_the_spec_is_taken(spec: Spec):
    have_the_derivatives_of_the_spec(situation(through, spec))


@pytest.mark.parametrize("wrong", [jnp.round, lambda y: 2.0 * y], ids=["none", "twice"])
def test_another_gradient_is_refused(wrong, spec: Spec):
    with pytest.raises(AssertionError, match="gradients"):
        have_the_derivatives_of_the_spec(situation(wrong, spec))


def test_without_the_word_the_message_names_it():
    with pytest.raises(AssertionError, match="surrogate_gradient=True"):
        assert_gradients(case(through))
