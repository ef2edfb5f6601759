"""Cells of cells and of functions, layers over several axes, and functions that draw."""

from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numerics_adapter import functional
from numerics_arrays import assert_close, draw, numpy
from numerics_compare import assert_same, redrawn, shapes_of

import mlax.graph as bx
from mlax.block import BatchApply, Recurrent, StackedCells
from mlax.nn import BatchNorm, F, GRUCell, LSTMCell

IN, SIZES, BATCH, TIME = 4, (3, 5, 2), 2, 6


def lstms(key):
    """Three LSTMs, one above another."""
    keys, inner = jax.random.split(key, 3), (IN, *SIZES)
    first, second, third = (
        LSTMCell.init(keys[i], inner[i], SIZES[i]) for i in (0, 1, 2)
    )
    return StackedCells.init(StackedCells.init(first, second), third)


def test_stacked_cells_are_those_of_haiku(dtype):
    *_, hyper = shapes_of(lambda key: Recurrent.init(lstms(key), return_carry=True))
    weights = redrawn(shapes_of(lambda key: Recurrent.init(lstms(key)))[0], dtype)
    empty = shapes_of(lambda key: Recurrent.init(lstms(key)))[1]

    def ours(weights, x):
        (y, carry), _ = Recurrent.fwd(x, weights, empty, hyper)
        return y, carry

    def make(x):
        core = hk.DeepRNN([hk.LSTM(size) for size in SIZES])
        start = core.initial_state(BATCH)
        return hk.dynamic_unroll(core, x, start, time_major=False)

    theirs = hk.without_apply_rng(hk.transform(make))

    def expected(weights, x):
        (lower, upper) = weights.cell
        cells, params = (*lower, upper), {}
        for number, cell in enumerate(cells):
            # Theirs are in another order, and add one to the forget gate.
            i, f, g, o = zip(*(jnp.split(part, 4, -1) for part in cell), strict=True)
            gates = zip(i, g, (*f[:2], f[2] - 1.0), o, strict=True)
            kernel, recurrent, bias = (jnp.concatenate(part, -1) for part in gates)
            name = f"lstm_{number}" if number else "lstm"
            params[f"{name}/linear"] = {
                "w": jnp.concatenate([kernel, recurrent]),
                "b": bias,
            }
        y, states = theirs.apply(params, x)
        first, second, third = ((s.cell, s.hidden) for s in states)
        return y, ((first, second), third)

    assert_same(ours, expected, weights, draw(50, (BATCH, TIME, IN), dtype))


def test_stacked_cells_hand_resets_to_both():
    key = jax.random.key(0)
    pair = StackedCells.init(GRUCell.init(key, IN, 3), GRUCell.init(key, 3, 3))
    trees = Recurrent.init(pair)
    x = draw(0, (BATCH, TIME, IN), "float32")
    begins = np.zeros((BATCH, TIME), bool)
    begins[:, 2] = True
    y, _ = Recurrent.fwd(x, *trees, reset=jnp.asarray(begins))
    rest, _ = Recurrent.fwd(x[:, 2:], *trees)
    assert_close(y[:, 2:], rest, "float32")


def running_sum(inputs_and_carry):
    inputs, carry = inputs_and_carry
    carry = carry + inputs
    return carry * inputs, carry


def test_a_function_is_a_cell(dtype):
    cell = F.init(running_sum, initial_carry=jnp.zeros)
    x = draw(0, (BATCH, TIME, IN), dtype)
    (y, carry), _ = Recurrent.fwd(x, *Recurrent.init(cell, return_carry=True))
    sums = np.cumsum(numpy(x), 1)
    assert_close((y, carry), (sums * numpy(x), sums[:, -1]), dtype)


def test_a_function_without_a_first_carry_is_no_cell():
    with pytest.raises(ValueError, match="initial_carry"):
        Recurrent.init(F.init(running_sum))


def test_a_module_of_a_function_is_a_cell():

    graph = bx.Graph("model")
    cell = bx.F(graph.child("cell"), running_sum, initial_carry=jnp.zeros)
    module = bx.Recurrent(graph.child("loop"), cell)
    x = draw(0, (BATCH, TIME, IN), "float32")
    y, _ = module(bx.Params(), x)
    assert_close(y, np.cumsum(numpy(x), 1) * numpy(x), "float32")


def noisy(x, key):
    return x + jax.random.normal(key, x.shape, x.dtype)


@pytest.mark.parametrize(
    ("given", "in_training", "at_inference"),
    [
        ({"takes_key": True, "inference_function": jnp.tanh}, noisy, jnp.tanh),
        ({"takes_key": True, "inference_takes_key": True}, noisy, noisy),
        (
            {
                "inference_function": noisy,
                "inference_takes_key": True,
                "function": jnp.sin,
            },
            jnp.sin,
            noisy,
        ),
    ],
    ids=["in training", "always", "at inference"],
)
def test_functions_that_draw(given, in_training, at_inference, dtype):
    trees = F.init(**{"function": noisy, **given})
    x, key = draw(0, (3, 4), dtype), jax.random.key(1)
    for function, inference_mode in ((in_training, False), (at_inference, True)):
        y, _ = F.fwd(x, *trees, inference_mode, key)
        expected = noisy(x, key) if function is noisy else function(x)
        assert_close(y, expected, dtype)
        if function is noisy:
            with pytest.raises(ValueError, match="F draws random numbers"):
                F.fwd(x, *trees, inference_mode)
        else:
            F.fwd(x, *trees, inference_mode)


def test_a_function_that_draws_says_what_runs_at_inference():
    cases: Any = ({"takes_key": True}, {"inference_takes_key": True})
    for given in cases:
        with pytest.raises(ValueError, match="inference_takes_key"):
            F.init(noisy, **given)


def test_batch_apply_is_that_of_haiku(dtype):
    """Moments over both axes, which a layer for one batch axis takes as one."""

    def init(key):
        return BatchApply.init(BatchNorm.init(key, IN, channel_last=True), 3)

    trainables, non_trainables, hyper = shapes_of(init)
    weights = redrawn(trainables, dtype)
    states = redrawn(non_trainables, dtype)

    def ours(weights, x):
        return BatchApply.fwd(x, weights, states, hyper)[0]

    def make(x):
        norm = hk.BatchNorm(True, True, 0.9, eps=1e-5)
        return hk.BatchApply(lambda x: norm(x, is_training=True), num_dims=3)(x)

    theirs = hk.without_apply_rng(hk.transform_with_state(make))
    x = draw(5, (2, 3, 4, IN), dtype)
    _, state = theirs.init(jax.random.key(0), x)

    def expected(weights, x):
        scale, offset = (part.reshape(1, -1) for part in weights.layer)
        given = {"batch_norm": {"scale": scale, "offset": offset}}
        return theirs.apply(given, state, x)[0]

    assert_same(ours, expected, weights, x)


def test_a_masked_value(dtype):
    logits, mask = (
        draw(0, (2, 3, 4, 5), dtype),
        np.random.default_rng(1).random((4, 5)) < 0.5,
    )
    y = functional("apply_attention_mask")(logits, mask, masked_value=-1e4)
    assert_close(y, np.where(mask, numpy(logits), -1e4), dtype)
    y = functional("apply_attention_mask")(logits, mask)
    assert bool((y == jnp.where(mask, logits, -jnp.inf)).all())


def test_modules_of_stacked_cells(dtype):
    """They have the weights of the pair, and compute what it does."""
    graph = bx.Graph("model")
    rng = bx.Rng(graph.child("rng"))
    cells = [
        bx.LSTM(graph.child(f"cell{i}"), size, rng=rng) for i, size in enumerate(SIZES)
    ]
    pair = bx.StackedCells(graph.child("pair"), *cells[:2])
    stack = bx.StackedCells(graph.child("stack"), pair, cells[2])
    module = bx.Recurrent(graph.child("loop"), stack, return_carry=True)
    x = draw(0, (BATCH, TIME, IN), dtype)
    params = rng.seed(bx.Params(), seed=0)
    result, params = module(params, x)
    *_, hyper = shapes_of(lambda key: Recurrent.init(lstms(key), return_carry=True))
    expected, _ = Recurrent.fwd(x, *bx.params_to_pair(module, params), hyper)
    assert_close(result, expected, dtype)
