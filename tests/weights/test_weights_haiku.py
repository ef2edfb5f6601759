"""Layers of haiku: parameters and states, and the outputs of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from weights_compare import (
    KEY,
    applied,
    assert_same,
    drawn_like,
    loaded,
    made_of,
    shaped,
)

from mlax import block, nn
from mlax_scaffold.weights import map_weights

X = np.random.default_rng(9).normal(size=(2, 5, 6))
IMAGES = np.random.default_rng(8).normal(size=(2, 6, 5, 4))


def run(make: Callable[[], Any], *inputs: Any) -> tuple[Any, Any]:
    """Drawn parameters and states of a module, and what it makes of the inputs."""

    def called(*given: Any) -> Any:
        return make()(*given)

    theirs = hk.without_apply_rng(hk.transform_with_state(called))
    params, state = drawn_like(jax.eval_shape(theirs.init, KEY, *inputs))
    y, _ = jax.jit(theirs.apply)(params, state, *inputs)
    return (params, state), y


def both(make: Callable[[], Any], ours: Any, *inputs: Any) -> None:
    """Compare a module with a layer of ours of the same weights."""
    given, y = run(make, *inputs)
    assert_same(applied(loaded(given, ours), inputs[0]), y)


def test_linear():
    both(lambda: hk.Linear(6), shaped(nn.Linear.init, KEY, 6, 6), X)


def test_convolutions():
    ours = shaped(
        nn.Conv.init, KEY, 2, 4, 6, (3, 2), padding="VALID", groups=2, channel_last=True
    )
    both(
        lambda: hk.Conv2D(6, (3, 2), padding="VALID", feature_group_count=2),
        ours,
        IMAGES,
    )
    ours = shaped(
        nn.ConvTranspose.init, KEY, 2, 4, 6, (3, 2), 2, padding="VALID",
        channel_last=True,
    )  # fmt: skip
    both(lambda: hk.Conv2DTranspose(6, (3, 2), 2, padding="VALID"), ours, IMAGES)


def test_norms_and_tables():
    """Averages of the statistics lie in modules of their own, beside what they are made of."""
    both(
        lambda: lambda x: hk.BatchNorm(True, True, 0.9)(x, hk.running_init()),
        shaped(nn.BatchNorm.init, KEY, 4, channel_last=True),
        IMAGES,
    )
    both(lambda: hk.LayerNorm(-1, True, True), shaped(nn.LayerNorm.init, KEY, 6), X)
    both(
        lambda: hk.Embed(5, 6),
        shaped(nn.Embed.init, KEY, 5, 6),
        np.array([[0, 4], [2, 2]]),
    )


@pytest.mark.parametrize("forget_bias", [0.0, 1.0])
def test_lstm(forget_bias):
    """One map of input and state, gates in another order, and a forget gate that has one added."""
    h, c = np.random.default_rng(1).normal(size=(2, 2, 4))
    given, (_, new) = run(
        lambda: lambda x, h, c: hk.LSTM(4)(x, hk.LSTMState(h, c)), X[:, 0], h, c
    )
    model = loaded(given, shaped(nn.LSTMCell.init, KEY, 6, 4, forget_bias=forget_bias))
    _, (c_new, h_new) = applied(model, (X[:, 0], (c, h)))
    assert_same((h_new, c_new), (new.hidden, new.cell))


def test_gru_and_vanilla():
    h = np.random.default_rng(1).normal(size=(2, 4))
    given, (y, _) = run(lambda: hk.GRU(4), X[:, 0], h)
    model = loaded(given, shaped(nn.GRUCell.init, KEY, 6, 4, reset_after=False))
    assert_same(applied(model, (X[:, 0], h))[0], y)
    given, (y, _) = run(lambda: hk.VanillaRNN(4), X[:, 0], h)
    ours = shaped(nn.SimpleCell.init, KEY, 6, 4, activation=jax.nn.relu)
    assert_same(applied(loaded(given, ours), (X[:, 0], h))[0], y)


def test_attention():
    both(
        lambda: (
            lambda x: hk.MultiHeadAttention(
                2, 3, w_init=hk.initializers.VarianceScaling(), model_size=6
            )(x, x, x)
        ),
        shaped(nn.MultiHeadAttention.init, KEY, 6, 2),
        X,
    )


def test_a_network():
    """The first of several `linear` has no number, and `linear_10` stands after `linear_9`."""

    def theirs(x: Any) -> Any:
        for _ in range(12):
            x = jnp.tanh(hk.Linear(6)(x))
        return hk.nets.MLP([6, 3])(x)

    def ours(dtype):
        layers = []
        for _ in range(12):
            layers += [nn.Linear.init(KEY, 6, 6, dtype=dtype), nn.F.init(jnp.tanh)]
        head = block.MLP.init(KEY, 6, 3, [6], activation=jax.nn.relu, dtype=dtype)
        return block.Series.init([*layers, head])

    both(lambda: theirs, shaped(ours), X)


def test_a_counter_beside_weights_keeps_its_initial_value():
    """As in a layer that was converted from a module with `hk.get_state`."""
    theirs = {"net/scale": {"scale": np.ones(8, np.float32)}}
    state = {"net/scale": {"count": np.zeros((), np.int32)}}

    class CounterTrainables(NamedTuple):
        scale: Any

    class CounterNonTrainables(NamedTuple):
        count: Any

    ours = (
        CounterTrainables(jax.ShapeDtypeStruct((8,), jnp.float32)),
        CounterNonTrainables(jax.ShapeDtypeStruct((), jnp.int32)),
    )
    mapping = map_weights((theirs, state), ours)
    assert made_of(mapping, "scale") == '"net/scale/scale"'
    assert mapping.complete
    assert '"net/scale/count",  # keeps its initial value' in str(mapping)
