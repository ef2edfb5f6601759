"""Moments and states that are no floating numbers stay what they are, whatever `moment_dtype` says."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rewrite_examples import Examples, importable

from mlax_scaffold.reader.files import SpecFile

COUNTING = '''
import jax.numpy as jnp

from mlax_scaffold.spec import DType, Optimizer, moment, state, zeros


class Counting(Optimizer):
    """Counts by leaf and for all, and steps where the signs of two gradients differ."""

    moment_dtype: DType | None = None

    def setup(self, param):
        self.turns = moment(zeros, param.shape, jnp.int32)
        self.positive = moment(zeros, param.shape, jnp.bool_)
        self.mean = moment(zeros, param.shape, self.moment_dtype)

    def setup_tree(self, params):
        self.calls = state(zeros, (), jnp.int32)
        self.started = state(zeros, (), jnp.bool_)
        self.scale = state(zeros, (), jnp.float32)

    def update(self, grad, param):
        positive = grad > 0.0
        turned = ((positive ^ self.positive) & self.started).astype(jnp.int32)
        self.turns = self.turns + turned
        self.positive = ~(~positive)
        self.mean = self.mean + grad
        odd = (self.calls + self.turns) % 2 == 1
        return jnp.where(odd, -self.mean, self.scale * grad)

    def finish(self, updates, params):
        self.calls = self.calls + 1
        self.started = ~self.started | self.started
'''
SPECS = (SpecFile("specs/optim/counting.py", "optim", COUNTING),)
LARGE = 2**24 + 1
"""A number that float32 does not have, and no narrower dtype."""


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory, words) -> Iterator[Examples]:
    with importable(SPECS, words, tmp_path_factory.mktemp("moments")) as made:
        yield made


@pytest.mark.parametrize("moment_dtype", [None, "bfloat16", "float16", "float32"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_integers_and_booleans_stay_what_they_are(examples, dtype, moment_dtype):
    module = examples.module("optim", "counting")
    signs = [jnp.asarray(s, dtype) for s in ([1.0, -1.0], [-1.0, -1.0], [1.0, -1.0])]
    with jax.numpy_dtype_promotion("strict"):
        state, hyperparams = module.init(signs[0], moment_dtype=moment_dtype)
        state = state._replace(turns=state.turns + LARGE, calls=state.calls + LARGE)
        oracle = examples.oracle("optim", "counting")(moment_dtype=moment_dtype)
        oracle.initialize(signs[0])
        oracle.load(state)
        for grad in signs:
            updates, state = module.step(grad, state, grad, hyperparams)
            expected = oracle.step(grad, grad)
            assert (updates == expected).all()
            assert updates.dtype == dtype
    for made in (state, SimpleNamespace(**oracle.state)):
        assert made.turns.dtype == made.calls.dtype == jnp.int32
        assert made.positive.dtype == made.started.dtype == jnp.bool_
        np.testing.assert_array_equal(made.turns, [LARGE + 2, LARGE])
        np.testing.assert_array_equal(made.positive, [True, False])
        assert made.calls == LARGE + 3
        assert made.mean.dtype == (moment_dtype or dtype)
