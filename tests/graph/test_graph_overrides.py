"""Classes of layers and blocks with a call of one's own: what a block runs is that call."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from graph_models import start

import mlax.graph as bx

X = jax.random.normal(jax.random.key(1), (4, 3))


class Doubled(bx.Linear):
    def __call__(self, params, x, *, kernel_mask=None, is_training=True):
        y, params = super().__call__(
            params, x, kernel_mask=kernel_mask, is_training=is_training
        )
        return 2.0 * y, params


class Again(Doubled):
    """Inherits a call of one's own."""


class Shifted(bx.BatchNorm):
    def __call__(self, params, x, *, mask=None, is_training=True, shift=1.0):
        y, params = super().__call__(params, x, mask=mask, is_training=is_training)
        return y + shift, params


class Negated(bx.Series):
    def __call__(self, params, x, *, is_training=True, **inputs):
        y, params = super().__call__(params, x, is_training=is_training, **inputs)
        return jax.tree.map(jnp.negative, y), params


class Noisy(bx.Dropout):
    """Drops at inference, too."""

    def __call__(self, params, x, *, is_training=True):
        return super().__call__(params, x, is_training=True)


class Cell(bx.GRU):
    """One that never begins anew."""

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, params, x, prev_state=None, *, is_training=True
    ):
        y, params = super().__call__(params, x, prev_state, is_training=is_training)
        return jax.tree.map(lambda v: 0.5 * v, y), params


KINDS = {
    "Linear": lambda g, rng: Doubled(g.child("m"), 3, rng=rng),
    "inherited": lambda g, rng: Again(g.child("m"), 3, rng=rng),
    "BatchNorm": lambda g, rng: Shifted(g.child("m"), channel_last=True, rng=rng),
    "Series": lambda g, rng: Negated(g.child("m"), [Doubled(g.child("n"), 3, rng=rng)]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_training", [False, True])
def test_a_block_runs_the_call_of_a_class(kind, is_training):
    graph, rng, params = start()
    module = KINDS[kind](graph, rng)
    blocks = [
        bx.Series(graph.child("series"), [module]),
        bx.Remat(graph.child("remat"), bx.Sequential(graph.child("s"), [module])),
    ]
    _, made = blocks[0](params, X, is_training=is_training)
    y, alone = module(params, X, is_training=is_training)
    assert list(made) == list(alone)
    params = alone.locked()
    y, after = module(params, X, is_training=is_training)
    for block in blocks:
        z, then = block(params, X, is_training=is_training)
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)
        for path in then:
            if path[1] == "m" and path[-1] in ("mean", "var"):
                np.testing.assert_allclose(
                    then[path].value, after[path].value, rtol=1e-5
                )


def test_keywords_of_a_call_are_handed_on():
    graph, rng, params = start()
    module = KINDS["BatchNorm"](graph, rng)
    block = bx.Residual(graph.child("residual"), module)
    y, params = block(params, X, is_training=False)
    z, _ = block(params, X, is_training=False, shift=3.0)
    np.testing.assert_allclose(z - y, 2.0, rtol=1e-5)


def test_what_a_call_draws_is_drawn():
    graph, rng, params = start()
    noisy = Noisy(graph.child("noisy"), 0.5, rng=rng)
    params = params.locked()
    for i, build in enumerate((bx.Residual, bx.Remat)):
        block = build(graph.child(f"block_{i}"), noisy)
        y, after = block(params, jnp.ones((8, 8)), is_training=False)
        assert len(np.unique(y)) == 2
        assert int(rng.get_counter(after)) == 1


def test_a_cell_of_ones_own_runs_in_a_loop():
    graph, rng, params = start()
    cell = Cell(graph.child("cell"), hidden_size=3, rng=rng)
    over = bx.Recurrent(graph.child("over"), cell)
    x = X[None]
    y, params = over(params, x, is_training=False)
    (z, _), _ = cell.apply(params, x, is_training=False)
    np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-6)
    state = cell.initial_carry((1, 3), x.dtype)
    for i in range(x.shape[1]):
        (step, state), _ = cell(params, x[:, i], state, is_training=False)
        np.testing.assert_allclose(y[:, i], step, rtol=1e-5, atol=1e-6)


def test_pairs_of_such_modules_are_params():
    graph, rng, params = start()
    block = bx.Residual(graph.child("b"), KINDS["Linear"](graph, rng))
    y, params = block(params, X, is_training=False)
    from mlax.block import Residual

    weights, state = bx.params_to_pair(block, params)
    z, _ = Residual.fwd(X, weights, state, block.hyperparams, inference_mode=True)
    np.testing.assert_allclose(y, z, rtol=1e-6)
    back = bx.pair_to_params(block, weights, state, params)
    assert jax.tree.structure(back) == jax.tree.structure(params)
