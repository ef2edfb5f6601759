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
WINDOW = '''
from mlax_scaffold.spec import Optimizer, moment, zeros


class Window(Optimizer):
    """Steps along the mean of the last gradients, each in its place."""

    size: int = 3

    def setup(self, param):
        self.kept = moment(zeros, (self.size, *param.shape))

    def update(self, grad, param):
        place = (self.step_number - 1) % self.size
        self.kept = self.kept.at[place].set(grad)
        return -0.5 * self.kept[place] - 0.25 * self.kept[place - 1] / self.step
'''
SPECS = (
    SpecFile("specs/optim/counting.py", "optim", COUNTING),
    SpecFile("specs/optim/window.py", "optim", WINDOW),
)
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


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_number_of_the_step_is_an_index_in_an_update(examples, dtype):
    module = examples.module("optim", "window")
    grads = [jnp.asarray([n, -n], dtype) for n in (1.0, 2.0, 3.0, 4.0)]
    updates = grads[0]
    state, hyperparams = module.init(grads[0])
    oracle = examples.oracle("optim", "window")()
    oracle.initialize(grads[0])
    for grad in grads:
        updates, state = module.step(grad, state, grad, hyperparams)
        assert (updates == oracle.step(grad, grad)).all()
        assert updates.dtype == dtype
    np.testing.assert_array_equal(state.kept[:, 0], [4.0, 2.0, 3.0])
    np.testing.assert_allclose(updates[0], -0.5 * 4.0 - 0.25 * 3.0 / 4, rtol=1e-3)
