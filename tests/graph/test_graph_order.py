"""What comes back after a detour: order after pickling, flags after pairs, seeds after blocks."""

from __future__ import annotations

import pickle

import jax
import jax.numpy as jnp
import numpy as np
from graph_models import start

import mlax.graph as bx

X = jnp.ones((2, 4))


def test_pickled_parts_merge_in_the_order_of_the_whole():
    names = [(name,) for name in "dacb"]
    whole = bx.Params({path: jnp.float32(i) for i, path in enumerate(names)})
    parts = whole.split(lambda path, _: path[0] in "ab")
    first, rest = (pickle.loads(pickle.dumps(part)) for part in parts)
    assert list(first.merge(rest)) == list(rest.merge(first)) == names


def test_a_pair_that_is_put_into_new_params_has_its_flags():
    graph, rng, params = start()
    norm = bx.BatchNorm(graph.child("norm"), channel_last=True, rng=rng)
    _, params = norm(params, X)
    made = bx.pair_to_params(norm, *bx.params_to_pair(norm, params))
    flags = {path[-1]: param.trainable for path, param in made.items()}
    assert flags == {"scale": True, "bias": True, "mean": False, "var": False}
    assert all(params[path].trainable == made[path].trainable for path in made)


class Noisy(bx.Module):
    """A module of one's own that has a generator of its own, which refers back to it."""

    def __init__(self, graph):
        super().__init__(graph)
        self.rng = bx.Rng(graph.child("rng"))
        self.dropout = bx.Dropout(graph.child("drop"), 0.5, rng=self.rng)
        self.itself = [self, {"again": self.dropout}]

    def __call__(self, params, x, is_training=False):
        return self.dropout(params, x, is_training=is_training)


def test_modules_are_found_once():
    noisy = Noisy(bx.Graph("model").child("noisy"))
    assert list(noisy.modules()) == [noisy, noisy.rng, noisy.dropout]


def test_a_block_leaves_the_seeds_of_its_modules():
    graph, rng, params = start()
    noisy = Noisy(graph.child("noisy"))
    series = bx.Series(graph.child("series"), [noisy, noisy], rng=rng)
    before = noisy.rng.seed(params, seed=9).locked()
    y, after = series(before, X, is_training=True)
    assert jax.tree.structure(after) == jax.tree.structure(before)
    assert noisy.rng.get_seed(after) == jax.random.key(9)
    assert noisy.rng.get_counter(after) == 0
    # A generator that was never seeded gets its seed for the call only.
    z, bare = series(params.locked(), X, is_training=True)
    assert list(bare) == list(params)
    np.testing.assert_array_equal(y, z)
