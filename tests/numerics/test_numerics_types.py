"""What type checkers know of outputs; pyright reads this file, and here the types are true."""

from __future__ import annotations

from typing import assert_type

import jax
import jax.numpy as jnp
import pytest

from mlax import block, nn

KEY = jax.random.key(0)
X = jnp.ones((2, 3, 4), jnp.float32)
LINEAR = nn.Linear.init(KEY, 4, 4)


def test_hyperparameters_apply_what_fwd_does():
    weights, state, hyperparams = LINEAR
    y, _ = hyperparams.apply(X, weights, state)
    assert_type(y, jax.Array)
    assert isinstance(y, jax.Array)


def test_a_residual_and_a_remat_return_what_their_layer_does():
    weights, state, hyperparams = block.Residual.init(block.Remat.init(LINEAR))
    y, _ = block.Residual.fwd(X, weights, state, hyperparams)
    assert_type(y, jax.Array)
    assert isinstance(y, jax.Array)


def test_a_remat_of_a_cell_returns_its_pair():
    weights, state, hyperparams = block.Remat.init(nn.LSTMCell.init(KEY, 4, 5))
    carry = (jnp.ones((2, 5), X.dtype), jnp.ones((2, 5), X.dtype))
    y, _ = block.Remat.fwd((X[:, 0], carry), weights, state, hyperparams)
    assert_type(y, tuple[jax.Array, tuple[jax.Array, jax.Array]])
    assert [leaf.shape for leaf in jax.tree.leaves(y)] == [(2, 5)] * 3


def test_a_repeat_returns_what_its_layer_does():
    layer = jax.vmap(lambda key: nn.Linear.init(key, 4, 4))(jax.random.split(KEY, 3))
    weights, state, hyperparams = block.Repeat.init(layer, 3)
    y, _ = block.Repeat.fwd(X, weights, state, hyperparams)
    assert_type(y, jax.Array)
    assert isinstance(y, jax.Array)


def test_a_batch_of_batches_has_the_output_of_its_layer():
    weights, state, hyperparams = block.BatchApply.init(LINEAR)
    y, _ = block.BatchApply.fwd(X, weights, state, hyperparams)
    assert_type(y, jax.Array)
    assert isinstance(y, jax.Array)


def test_what_is_no_layer_is_none_for_a_type_checker():
    adam = object()
    with pytest.raises(ValueError, match="layer must be"):
        block.Remat.init((None, None, adam))  # pyright: ignore[reportArgumentType]
