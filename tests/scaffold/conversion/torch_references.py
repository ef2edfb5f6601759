"""What modules of PyTorch compute, written out in NumPy at float64; kernels are (in, out)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(x, axis=-1):
    weights = np.exp(x - x.max(axis=axis, keepdims=True))
    return weights / weights.sum(axis=axis, keepdims=True)


def linear(w, x):
    y = x @ w.kernel
    return y if w.bias is None else y + w.bias


def rms_norm(w, x):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * w.weight


def lora(w, x):
    return linear(w.linear, x) + x @ w.lora_a @ w.lora_b * (8.0 / 2)


def weight_norm(w, x):
    v = w.v
    weight = w.g[:, None] * v / np.sqrt((v**2).sum(1, keepdims=True))
    return x @ weight.T + w.bias


def swi_glu(w, x):
    return linear(w.w2, silu(linear(w.w1, x)) * linear(w.w3, x))


def gru_cell(w, x, h):
    x_r, x_z, x_n = np.split(linear(w.x2h, x), 3, -1)
    h_r, h_z, h_n = np.split(linear(w.h2h, h), 3, -1)
    r, z = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
    n = np.tanh(x_n + r * h_n)
    return (1 - z) * n + z * h


def highway(w, x):
    for nonlinear, gate_ in zip(w.nonlinear, w.gate, strict=True):
        gate = sigmoid(linear(gate_, x))
        x = gate * np.maximum(linear(nonlinear, x), 0.0) + (1 - gate) * x
    return x


def router(w, x):
    weights = softmax(linear(w.gate, x))
    outputs = np.stack([swi_glu(e, x) for e in w.experts], -1)
    return (outputs * weights[..., None, :]).sum(-1)


def attention(w, x):
    b, n, c = x.shape
    qkv = linear(w.qkv, x).reshape(b, n, 3, 2, c // 2).transpose(2, 0, 3, 1, 4)
    q, k, v = qkv
    weights = softmax(q @ np.swapaxes(k, -2, -1) * (c // 2) ** -0.5)
    y = (weights @ v).transpose(0, 2, 1, 3).reshape(b, n, c)
    return linear(w.proj, y)


def causal(w, x):
    b, t, c = x.shape
    q, k, v = np.split(linear(w.c_attn, x), 3, -1)
    q, k, v = (a.reshape(b, t, 2, c // 2).transpose(0, 2, 1, 3) for a in (q, k, v))
    logits = q @ k.transpose(0, 1, 3, 2) / math.sqrt(c // 2)
    logits = np.where(np.tril(np.ones((t, t))) == 0, -np.inf, logits)
    y = (softmax(logits) @ v).transpose(0, 2, 1, 3).reshape(b, t, c)
    return linear(w.c_proj, y)


def squeeze_excite(w, x):
    y = x.mean((2, 3))
    y = sigmoid(linear(w.fc_2, np.maximum(linear(w.fc_0, y), 0.0)))
    return x * y[:, :, None, None]


def patches(w, x):
    b, c, h, wide = x.shape
    x = x.reshape(b, c, h // 2, 2, wide // 2, 2)
    y = np.einsum("bchiwj,ocij->bohw", x, w.proj.kernel) + w.proj.bias[:, None, None]
    return y.reshape(b, y.shape[1], -1).transpose(0, 2, 1)


def leaky_relu(x, slope):
    return np.where(x > 0, x, slope * x)


def preactivated(w, x):
    x = np.maximum(x, 0.0)
    out = leaky_relu(linear(w.fc1, x), 0.1)
    return (linear(w.fc2, out) + x) * w.scale + out


def downsampled(w, x):
    y = np.maximum(preactivated(w.first, x), 0.0)
    return np.concatenate([np.maximum(x, 0.0), y, np.tanh(linear(w.second_1, y))], -1)


def graph_attention(w, h, adj):
    wh = h @ w.W
    size = wh.shape[1]
    e = leaky_relu(wh @ w.a[:size] + (wh @ w.a[size:]).T, 0.2)
    y = softmax(np.where(adj > 0, e, -9e15), 1) @ wh
    return np.where(y > 0, y, np.expm1(y))


def multihead_block(w, q, k):
    q, k, v = linear(w.fc_q, q), linear(w.fc_k, k), linear(w.fc_v, k)
    heads = [np.concatenate(np.split(a, 2, 2), 0) for a in (q, k, v)]
    weights = softmax(heads[0] @ heads[1].swapaxes(1, 2) / math.sqrt(q.shape[2]), 2)
    y = np.concatenate(np.split(heads[0] + weights @ heads[2], 2, 0), 2)
    return y + np.maximum(linear(w.fc_o, y), 0.0)


def relative_attention(w, x):
    b, t, _ = x.shape
    q, k, v = (
        linear(a, x).reshape(b, t, 4, -1).swapaxes(1, 2) for a in (w.q, w.k, w.v)
    )
    at = np.arange(t)[None, :] - np.arange(t)[:, None]
    far = np.abs(at)
    # 8 buckets: 4 of each sign, of which the first 2 are exact, up to a distance of 20.
    with np.errstate(divide="ignore"):
        large = 2 + np.log(far / 2) / math.log(20 / 2) * 2
    large = np.minimum(np.where(far < 2, 0, large).astype(int), 3)
    buckets = (at > 0) * 4 + np.where(far < 2, far, large)
    bias = w.relative_attention_bias.embedding[buckets].transpose(2, 0, 1)
    y = softmax(q @ k.swapaxes(2, 3) + bias) @ v
    return linear(w.o, y.swapaxes(1, 2).reshape(b, t, -1))


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def branched(w, x):
    # A causal one of width 4, with a window of 16 at most.
    return gelu(linear(w.fc, x)) * 4**-0.5 * 2 + 4 * 6


def layer_norm(w, x, epsilon):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon) * w.scale + w.bias


def bert_layer(w, x, mask):
    b, t, c = x.shape
    a = w.own_self
    q, k, v = (
        linear(m, x).reshape(b, t, 2, c // 2).swapaxes(1, 2)
        for m in (a.query, a.own_key, a.own_value)
    )
    weights = softmax(q @ k.swapaxes(2, 3) / math.sqrt(c // 2) + mask)
    y = linear(w.output.dense, (weights @ v).swapaxes(1, 2).reshape(b, t, c))
    y = layer_norm(w.output.layer_norm, y + x, 1e-12)
    return y + linear(w.last, gelu(linear(w.intermediate, y)))


def cosine_net(w, x):
    kernel = w.conv.weight - w.conv.weight.mean((1, 2, 3), keepdims=True)
    high, wide = x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    y = w.conv.bias[:, None, None] + sum(
        np.einsum(
            "bchw,oc->bohw",
            padded[:, :, i : i + high, j : j + wide],
            kernel[:, :, i, j],
        )
        for i in range(3)
        for j in range(3)
    )
    y = y.transpose(0, 2, 3, 1)
    y = y - y.mean(-1, keepdims=True)
    y = y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-5) * w.norm.weight + w.norm.bias
    y = np.maximum(y, 0.0).mean((1, 2))
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    rows = w.head.weight
    return y @ (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).T


def graph_convolutions(w, x, adj):
    y = np.maximum(adj @ (x @ w.gc1.weight) + w.gc1.bias, 0.0)
    y = adj @ (y @ w.gc2.weight) + w.gc2.bias
    y = y - y.max(1, keepdims=True)
    return y - np.log(np.exp(y).sum(1, keepdims=True))


def masked_conv(weights, x):
    kernel = np.array(weights.weight)
    size = kernel.shape[-1]
    kernel[:, :, size // 2, size // 2 :] = 0
    kernel[:, :, size // 2 + 1 :] = 0
    height, width = (n - size + 1 for n in x.shape[2:])
    seen = [
        np.einsum("bchw,ochw->bo", x[:, :, i : i + size, j : j + size], kernel)
        for i in range(height)
        for j in range(width)
    ]
    y = np.stack(seen, -1).reshape(len(x), -1, height, width)
    return y + weights.bias[:, None, None]


def coupled(w, x):
    def shallow(v, x):
        for layer in (v.net_0, *v.net_2_linear):
            x = linear(layer, x)
            x = np.where(x > 0, x, 0.2 * x)
        return linear(v.net_3, x)

    volume = np.zeros(len(x))
    for i, flow in enumerate(w.flows):
        kept, other = x[:, ::2], x[:, 1::2]
        if i % 2:
            kept, other = other, kept
        scale = shallow(flow.s_cond, kept)
        other = np.exp(scale) * other + shallow(flow.t_cond, kept)
        volume = volume + scale.sum(1)
        x = np.concatenate([other, kept] if i % 2 else [kept, other], 1)
    return np.concatenate([x, volume[:, None]], 1)


def radiance(w, x):
    points = x[:, :3]
    h = points
    for i, layer in enumerate(w.pts_linears):
        h = np.maximum(linear(layer, h), 0.0)
        if i == 1:
            h = np.concatenate([points, h], -1)
    return linear(w.output_linear, h)


def encoder(w, x, mask):
    def norm(v, x):
        centred = x - x.mean(-1, keepdims=True)
        return v.a_2 * centred / (x.std(-1, ddof=1, keepdims=True) + 1e-6) + v.b_2

    for layer in w.layers:
        y = norm(layer.sublayer_0_norm, x)
        q, k, v = (
            linear(m, y).reshape(*y.shape[:2], 2, -1).swapaxes(1, 2)
            for m in layer.self_attn.linears[:3]
        )
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        scores = np.where(mask[:, None], scores, -1e9)
        heads = (softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape)
        x = x + linear(layer.self_attn.linears[3], heads)
        y = norm(layer.sublayer_1_norm, x)
        forward = layer.feed_forward
        x = x + linear(forward.w_2, np.maximum(linear(forward.w_1, y), 0.0))
    return norm(w.norm, x)


REFERENCES: dict[str, tuple[dict[str, Any], list[tuple[int, ...]], Any]] = {
    "RMSNorm": ({"dim": 5}, [(3, 5)], rms_norm),
    "LoRALinear": ({"in_features": 5, "out_features": 4, "r": 2}, [(3, 5)], lora),
    "WeightNormLinear": ({"in_features": 5, "out_features": 4}, [(3, 5)], weight_norm),
    "SwiGLU": ({"dim": 5, "hidden_dim": 7}, [(3, 5)], swi_glu),
    "GRUCell": ({"input_size": 5, "hidden_size": 4}, [(3, 5), (3, 4)], gru_cell),
    "Highway": ({"size": 4, "num_layers": 3}, [(3, 4)], highway),
    "Router": ({"dim": 4, "num_experts": 3}, [(3, 4)], router),
    "Attention": ({"dim": 8, "num_heads": 2}, [(2, 3, 8)], attention),
    "CausalSelfAttention": (
        {"n_embd": 8, "n_head": 2, "block_size": 6},
        [(2, 4, 8)],
        causal,
    ),
    "SqueezeExcite": ({"channels": 8, "reduction": 2}, [(2, 8, 3, 3)], squeeze_excite),
    "PatchEmbed": ({}, [(2, 3, 4, 4)], patches),
    "PreActivated": ({"dim": 4}, [(3, 4)], preactivated),
    "Downsampled": ({"dim": 4}, [(3, 4)], downsampled),
    "GraphAttentionLayer": (
        {"in_features": 5, "out_features": 3, "dropout": 0.1, "alpha": 0.2},
        [(4, 5), (4, 4)],
        graph_attention,
    ),
    "MAB": (
        {"dim_Q": 5, "dim_K": 3, "dim_V": 4, "num_heads": 2},
        [(2, 3, 5), (2, 4, 3)],
        multihead_block,
    ),
    "T5Attention": ({}, [(2, 9, 16)], relative_attention),
    "BranchedScale": ({"dim": 4, "causal": True}, [(3, 4)], branched),
    "MaskedConv2d": (
        {"mask_type": "A", "in_channels": 2, "out_channels": 4, "kernel_size": 3},
        [(2, 2, 5, 6)],
        masked_conv,
    ),
    "CosineNet": ({}, [(2, 3, 5, 6)], cosine_net),
    "GCN": (
        {"nfeat": 5, "nhid": 4, "nclass": 3, "dropout": 0.1},
        [(6, 5), (6, 6)],
        graph_convolutions,
    ),
    "NormalizingFlow": ({"dim": 6, "hidden_dim": 5, "num_flows": 3}, [(4, 6)], coupled),
    "NeRF": ({"D": 4, "W": 8, "skips": (1,)}, [(3, 6)], radiance),
}
