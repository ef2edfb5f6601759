"""Layers of PyTorch: names and layouts of its state dicts, outputs by its documentation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch_layers as torch
from weights_compare import KEY, applied, assert_same, loaded, made_of, shaped

from mlax import block, nn
from mlax_scaffold.weights import map_weights

X = np.random.default_rng(9).normal(size=(2, 5, 6))
IMAGES = np.random.default_rng(8).normal(size=(2, 4, 6, 5))


@pytest.mark.parametrize("out", [6, 3])
@pytest.mark.parametrize("use_bias", [True, False])
def test_linear(out, use_bias):
    state = torch.drawn(0, weight=(out, 6), bias=(out,))
    state = state if use_bias else {"weight": state["weight"]}
    model = loaded(state, shaped(nn.Linear.init, KEY, 6, out, use_bias))
    assert_same(applied(model, X), torch.linear(X, state))


@pytest.mark.parametrize(("channel_last", "groups"), [(False, 2), (True, 1)])
def test_conv(channel_last, groups):
    state = torch.drawn(0, weight=(4, 4 // groups, 3, 2), bias=(4,))
    layer = shaped(
        nn.Conv.init, KEY, 2, 4, 4, (3, 2), padding="VALID", groups=groups,
        channel_last=channel_last,
    )  # fmt: skip
    x = np.moveaxis(IMAGES, 1, -1) if channel_last else IMAGES
    y = applied(loaded(state, layer, source="torch"), x)
    assert_same(
        np.moveaxis(y, -1, 1) if channel_last else y,
        torch.conv2d(IMAGES, state, groups),
    )


@pytest.mark.parametrize(
    ("channel_last", "groups", "flip"),
    [(False, 1, False), (True, 2, True), (True, 2, False)],
)
def test_conv_transpose(channel_last, groups, flip):
    state = torch.drawn(0, weight=(4, 6 // groups, 3, 2), bias=(6,))
    layer = shaped(
        nn.ConvTranspose.init, KEY, 2, 4, 6, (3, 2), 2, padding=0, groups=groups, flip_kernel=flip,
        channel_last=channel_last,
    )  # fmt: skip
    x = np.moveaxis(IMAGES, 1, -1) if channel_last else IMAGES
    y = applied(loaded(state, layer), x)
    assert_same(
        np.moveaxis(y, -1, 1) if channel_last else y,
        torch.conv_transpose2d(IMAGES, state, 2, groups),
    )


def test_batch_norm_has_running_statistics_and_a_counter():
    names = ("weight", "bias", "running_mean", "running_var")
    state = {
        n: np.abs(a) for n, a in torch.drawn(0, **dict.fromkeys(names, (4,))).items()
    }
    state["num_batches_tracked"] = np.array(7)
    layer = shaped(nn.BatchNorm.init, KEY, 4)
    mapping = map_weights(state, layer)
    assert mapping.ignored == (
        ("num_batches_tracked", "counts batches, which nothing here does"),
    )
    assert_same(applied(loaded(state, layer), IMAGES), torch.batch_norm(IMAGES, state))


def test_other_norms():
    state = torch.drawn(0, weight=(6,), bias=(6,))
    layer = shaped(nn.LayerNorm.init, KEY, 6, epsilon=1e-5)
    assert_same(applied(loaded(state, layer), X), torch.layer_norm(X, state))
    state = torch.drawn(1, weight=(4,), bias=(4,))
    layer = shaped(nn.GroupNorm.init, KEY, 2, 4, epsilon=1e-5)
    assert_same(
        applied(loaded(state, layer), IMAGES), torch.group_norm(IMAGES, state, 2)
    )


def test_embedding():
    state = torch.drawn(0, weight=(5, 5))
    model = loaded(state, shaped(nn.Embed.init, KEY, 5, 5))
    places = np.array([[0, 4], [2, 2]])
    assert_same(applied(model, places), state["weight"][places])


@pytest.mark.parametrize("forget_bias", [0.0, 1.0])
def test_lstm_cell(forget_bias):
    state = torch.drawn(
        0, weight_ih=(16, 6), weight_hh=(16, 4), bias_ih=(16,), bias_hh=(16,)
    )
    layer = shaped(nn.LSTMCell.init, KEY, 6, 4, forget_bias=forget_bias)
    h, c = np.random.default_rng(1).normal(size=(2, 2, 4))
    _, (c_new, h_new) = applied(loaded(state, layer), (X[:, 0], (c, h)))
    assert_same((h_new, c_new), torch.lstm_cell(X[:, 0], h, c, state))


def test_gru_and_simple_cells():
    h = np.random.default_rng(1).normal(size=(2, 4))
    state = torch.drawn(
        0, weight_ih=(12, 6), weight_hh=(12, 4), bias_ih=(12,), bias_hh=(12,)
    )
    model = loaded(state, shaped(nn.GRUCell.init, KEY, 6, 4, reset_after=True))
    assert_same(applied(model, (X[:, 0], h))[1], torch.gru_cell(X[:, 0], h, state))
    state = torch.drawn(
        0, weight_ih=(4, 6), weight_hh=(4, 4), bias_ih=(4,), bias_hh=(4,)
    )
    model = loaded(state, shaped(nn.SimpleCell.init, KEY, 6, 4, activation=jnp.tanh))
    assert_same(applied(model, (X[:, 0], h))[1], torch.rnn_cell(X[:, 0], h, state))


def test_lstm_of_two_layers_in_both_directions():
    """All arrays lie side by side there, with the number and the direction in their names."""
    shapes = {}
    for layer, inputs in (("l0", 6), ("l1", 8)):
        for ending in ("", "_reverse"):
            sizes = ((16, inputs), (16, 4), (16,), (16,))
            for name, shape in zip(torch.cell_names, sizes, strict=True):
                shapes[f"{name}_{layer}{ending}"] = shape
    state = torch.drawn(3, **shapes)
    y = X
    for layer in ("_l0", "_l1"):
        y = np.concatenate(
            [torch.lstm(y, state, layer), torch.lstm(y, state, f"{layer}_reverse")], -1
        )

    def both(inputs):
        ahead, back = (
            block.Recurrent.init(nn.LSTMCell.init(KEY, inputs, 4, dtype=jnp.float64))
            for _ in range(2)
        )
        return block.Bidirectional.init(ahead, back)

    model = jax.eval_shape(lambda: block.Series.init([both(6), both(8)]))
    assert_same(applied(loaded(torch.under("rnn", state), model), X), y)


def test_attention_in_one_array_and_in_three():
    state = torch.attention_state(0, 6)
    layer = shaped(nn.MultiHeadAttention.init, KEY, 6, 2)
    assert_same(applied(loaded(state, layer), X), torch.attention(X, X, 2, state))
    state = torch.drawn(
        1, q_proj_weight=(6, 6), k_proj_weight=(6, 3), v_proj_weight=(6, 3),
        in_proj_bias=(18,), out_proj__weight=(6, 6), out_proj__bias=(6,),
    )  # fmt: skip
    context = X[..., :3]
    layer = shaped(nn.MultiHeadAttention.init, KEY, 6, 2, context_features=3)
    y = applied(loaded(state, layer), X, context=jnp.asarray(context))
    assert_same(y, torch.attention(X, context, 2, state))


@pytest.mark.parametrize("qkv", ["thirds", "heads"])
def test_attention_in_one_map(qkv):
    """Of `x.reshape(..., 3, heads, size)`, and of `x.reshape(..., heads, 3 * size)`."""
    state = torch.attention_state(0, 6)
    expected = torch.attention(X, X, 2, state)

    def laid(given):
        if qkv == "thirds":
            return given
        split = given.reshape(3, 2, 3, *given.shape[1:])
        return split.swapaxes(0, 1).reshape(given.shape)

    theirs = {
        "qkv.weight": laid(state["in_proj_weight"]),
        "qkv.bias": laid(state["in_proj_bias"]),
        "proj.weight": state["out_proj.weight"],
        "proj.bias": state["out_proj.bias"],
    }
    layer = shaped(nn.MultiHeadAttention.init, KEY, 6, 2)
    assert_same(applied(loaded(theirs, layer, qkv=qkv), X), expected)


def encoder(key=KEY, **options):
    return block.TransformerEncoderLayer.init(
        key, 6, 2, 10, activation=jax.nn.relu, **options
    )


def encoders(dtype):
    return block.Repeat.init(
        jax.vmap(lambda key: encoder(key, dtype=dtype))(jax.random.split(KEY, 3)), 3
    )


@pytest.mark.parametrize("stack", [False, True])
def test_encoders_from_a_list_into_one_stack(stack):
    states = [torch.encoder_state(10 * n, 6, 10) for n in range(3)]
    checkpoint = {}
    for n, state in enumerate(states):
        checkpoint |= torch.under(f"encoder.layers.{n}", state)
    if stack:
        model = shaped(encoders)
    else:
        model = jax.eval_shape(
            lambda: block.Series.init([encoder(dtype=jnp.float64)] * 3)
        )
    y = X
    for state in states:
        y = torch.encoder(y, 2, state)
    mapping = map_weights(checkpoint, model)
    if stack:
        assert made_of(mapping, "layer/feed_forward_norm/scale") == (
            'each("encoder.layers.{}.norm2.weight", 0, 3)'
        )
    assert_same(applied(loaded(checkpoint, model), X), y)


def test_a_whole_network():
    """Convolutions with norms, and a head: numbers of ours and of theirs differ."""
    state = {
        **torch.drawn(0, conv1__weight=(4, 4, 3, 3), conv1__bias=(4,)),
        **{
            n: np.abs(a)
            for n, a in torch.drawn(
                1, bn1__weight=(4,), bn1__bias=(4,), bn1__running_mean=(4,),
                bn1__running_var=(4,), bn2__weight=(4,), bn2__bias=(4,),
                bn2__running_mean=(4,), bn2__running_var=(4,),
            ).items()
        },
        **torch.drawn(2, conv2__weight=(4, 4, 3, 3), conv2__bias=(4,)),
        **torch.drawn(3, fc__weight=(4, 8), fc__bias=(4,)),
    }  # fmt: skip

    def convolution():
        return nn.Conv.init(KEY, 2, 4, 4, 3, padding="VALID", dtype=jnp.float64)

    def network(dtype):
        return block.Series.init(
            [
                convolution(),
                nn.BatchNorm.init(KEY, 4, dtype=dtype),
                nn.F.init(jax.nn.relu),
                convolution(),
                nn.BatchNorm.init(KEY, 4, dtype=dtype),
                nn.Flatten.init(),
                nn.Linear.init(KEY, 8, 4, dtype=dtype),
            ]
        )

    model = shaped(network)
    y = np.maximum(
        torch.batch_norm(
            torch.conv2d(IMAGES, torch.of("conv1", state)), torch.of("bn1", state)
        ),
        0,
    )
    y = torch.batch_norm(
        torch.conv2d(y, torch.of("conv2", state)), torch.of("bn2", state)
    )
    y = torch.linear(y.reshape(2, -1), torch.of("fc", state))
    assert_same(applied(loaded(state, model), IMAGES), y)
