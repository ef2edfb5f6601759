"""Layers of PyTorch from its documentation, in NumPy and float64: state dicts and what they compute.

PyTorch itself is not needed. Each function has the equation of the documentation's page of the
layer; arrays have the names and layouts of its `state_dict`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

State = dict[str, np.ndarray]


def drawn(seed: int, **shapes: tuple[int, ...]) -> State:
    """Arrays of these shapes; in names `__` stands for the point."""
    generator = np.random.default_rng(seed)
    return {
        name.replace("__", "."): generator.normal(size=shape)
        for name, shape in shapes.items()
    }


def under(prefix: str, state: Mapping[str, np.ndarray]) -> State:
    """The state dict of a module that is a part of another one."""
    return {f"{prefix}.{name}": array for name, array in state.items()}


def of(prefix: str, state: Mapping[str, np.ndarray]) -> State:
    """The part of a state dict that belongs to a module."""
    start = f"{prefix}."
    return {n.removeprefix(start): a for n, a in state.items() if n.startswith(start)}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def linear(x: np.ndarray, state: Mapping[str, np.ndarray]) -> np.ndarray:
    """The map y = x A^T + b."""
    return x @ state["weight"].T + state.get("bias", np.zeros(()))


def conv2d(
    x: np.ndarray, state: Mapping[str, np.ndarray], groups: int = 1
) -> np.ndarray:
    """The valid cross-correlation of each group of channels."""
    weight = state["weight"]
    outputs, inner, height, width = weight.shape
    batch, _, rows, columns = x.shape
    y = np.zeros((batch, outputs, rows - height + 1, columns - width + 1))
    for o in range(outputs):
        first = o // (outputs // groups) * inner
        for i, j in itertools.product(range(y.shape[2]), range(y.shape[3])):
            window = x[:, first : first + inner, i : i + height, j : j + width]
            y[:, o, i, j] = (window * weight[o]).sum((1, 2, 3))
    return y + state["bias"][:, None, None]


def conv_transpose2d(
    x: np.ndarray, state: Mapping[str, np.ndarray], stride: int, groups: int = 1
) -> np.ndarray:
    """The gradient of conv2d with respect to its input: each element is spread by the kernel."""
    weight = state["weight"]
    inputs, inner, height, width = weight.shape
    batch, _, rows, columns = x.shape
    y = np.zeros(
        (
            batch,
            inner * groups,
            (rows - 1) * stride + height,
            (columns - 1) * stride + width,
        )
    )
    for c in range(inputs):
        first = c // (inputs // groups) * inner
        for i, j in itertools.product(range(rows), range(columns)):
            top, left = i * stride, j * stride
            y[:, first : first + inner, top : top + height, left : left + width] += (
                x[:, c, i, j][:, None, None, None] * weight[c]
            )
    return y + state["bias"][:, None, None]


def batch_norm(
    x: np.ndarray, state: Mapping[str, np.ndarray], epsilon: float = 1e-5
) -> np.ndarray:
    """In evaluation: by the running statistics."""
    shape = (-1, *(1,) * (x.ndim - 2))
    mean, var, weight, bias = (
        state[name].reshape(shape)
        for name in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / np.sqrt(var + epsilon) * weight + bias


def layer_norm(
    x: np.ndarray, state: Mapping[str, np.ndarray], epsilon: float = 1e-5
) -> np.ndarray:
    """By the mean and the biased variance of the last axis."""
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + epsilon) * state["weight"] + state["bias"]


def group_norm(
    x: np.ndarray, state: Mapping[str, np.ndarray], groups: int, epsilon: float = 1e-5
) -> np.ndarray:
    """By the mean and the biased variance of each group of channels."""
    grouped = x.reshape(x.shape[0], groups, -1)
    mean, var = grouped.mean(-1, keepdims=True), grouped.var(-1, keepdims=True)
    y = ((grouped - mean) / np.sqrt(var + epsilon)).reshape(x.shape)
    shape = (-1, *(1,) * (x.ndim - 2))
    return y * state["weight"].reshape(shape) + state["bias"].reshape(shape)


def lstm_cell(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, state: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Gates i, f, g, o, each with a bias of the input and one of the state."""
    gates = x @ state["weight_ih"].T + state["bias_ih"]
    gates = gates + h @ state["weight_hh"].T + state["bias_hh"]
    i, f, g, o = np.split(gates, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_cell(
    x: np.ndarray, h: np.ndarray, state: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Gates r, z, n; n = tanh(W_in x + b_in + r (W_hn h + b_hn)); h' = (1 - z) n + z h."""
    r_x, z_x, n_x = np.split(x @ state["weight_ih"].T + state["bias_ih"], 3, -1)
    r_h, z_h, n_h = np.split(h @ state["weight_hh"].T + state["bias_hh"], 3, -1)
    r, z = sigmoid(r_x + r_h), sigmoid(z_x + z_h)
    return (1 - z) * np.tanh(n_x + r * n_h) + z * h


def rnn_cell(
    x: np.ndarray, h: np.ndarray, state: Mapping[str, np.ndarray]
) -> np.ndarray:
    """The state h' = tanh(W_ih x + b_ih + W_hh h + b_hh)."""
    return np.tanh(
        x @ state["weight_ih"].T
        + state["bias_ih"]
        + h @ state["weight_hh"].T
        + state["bias_hh"]
    )


def lstm(x: np.ndarray, state: Mapping[str, np.ndarray], ending: str) -> np.ndarray:
    """One direction of one layer, `ending` is that of its names; x is (batch, time, features)."""
    own = {name: state[name + ending] for name in cell_names}
    size = own["weight_hh"].shape[1]
    h = c = np.zeros((x.shape[0], size))
    steps = range(x.shape[1])
    found = np.zeros((*x.shape[:2], size))
    for t in reversed(steps) if ending.endswith("_reverse") else steps:
        h, c = lstm_cell(x[:, t], h, c, own)
        found[:, t] = h
    return found


cell_names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def attention(
    x: np.ndarray, context: np.ndarray, heads: int, state: Mapping[str, np.ndarray]
) -> np.ndarray:
    """MultiheadAttention with batch_first: softmax(q k^T / sqrt(size)) v in each head."""
    if "in_proj_weight" in state:
        weights = np.split(state["in_proj_weight"], 3)
    else:
        weights = [state[f"{letter}_proj_weight"] for letter in "qkv"]
    biases = np.split(state["in_proj_bias"], 3)
    inputs = (x, context, context)
    q, k, v = (
        (given @ w.T + b).reshape(*given.shape[:2], heads, -1).swapaxes(1, 2)
        for given, w, b in zip(inputs, weights, biases, strict=True)
    )
    scores = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    y = (scores @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)
    return linear(y, of("out_proj", state))


def attention_state(seed: int, features: int) -> State:
    """The state dict of MultiheadAttention."""
    return drawn(
        seed,
        in_proj_weight=(3 * features, features),
        in_proj_bias=(3 * features,),
        out_proj__weight=(features, features),
        out_proj__bias=(features,),
    )


def encoder_state(seed: int, features: int, hidden: int) -> State:
    """The state dict of TransformerEncoderLayer."""
    return {
        **under("self_attn", attention_state(seed, features)),
        **drawn(
            seed + 1,
            linear1__weight=(hidden, features),
            linear1__bias=(hidden,),
            linear2__weight=(features, hidden),
            linear2__bias=(features,),
            norm1__weight=(features,),
            norm1__bias=(features,),
            norm2__weight=(features,),
            norm2__bias=(features,),
        ),
    }


def encoder(x: np.ndarray, heads: int, state: Mapping[str, np.ndarray]) -> np.ndarray:
    """TransformerEncoderLayer with norm_first and relu."""
    normed = layer_norm(x, of("norm1", state))
    x = x + attention(normed, normed, heads, of("self_attn", state))
    hidden = linear(layer_norm(x, of("norm2", state)), of("linear1", state))
    return x + linear(np.maximum(hidden, 0), of("linear2", state))
