"""Layers in containers, and projections that are several in one."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class InterleavedAttention(nn.Module):
    """NeoX: q, k and v of one head lie beside each other."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.query_key_value = nn.Linear(dim, 3 * dim)
        self.dense = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        qkv = self.query_key_value(x).view(b, t, self.num_heads, 3 * self.head_dim)
        q, k, v = qkv.split(self.head_dim, dim=-1)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.dense(y.transpose(1, 2).reshape(b, t, d))


class Branches(nn.Module):
    def __init__(self, channels, kinds=("relu", "tanh")):
        super().__init__()
        self.acts = nn.ModuleDict({"relu": nn.ReLU(), "tanh": nn.Tanh()})
        self.heads = nn.ModuleDict(
            {"a": nn.Linear(channels, 4), "b": nn.Linear(channels, 4)}
        )
        self.stages = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Linear(channels, channels), nn.LayerNorm(channels), nn.GELU()
                )
                for _ in range(3)
            ]
        )

    def forward(self, x):
        for stage in self.stages:
            x = x + stage(x)
        return self.heads["a"](self.acts["relu"](x)) + self.heads["b"](
            self.acts["tanh"](x)
        )


class InProj(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.randn(3 * dim, dim))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * dim))
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (
            F.linear(x, self.in_proj_weight, self.in_proj_bias)
            .reshape(b, n, 3, self.heads, d // self.heads)
            .permute(2, 0, 3, 1, 4)
        )
        w = torch.softmax(q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5, -1)
        return self.out((w @ v).transpose(1, 2).flatten(2))


class ResidualTower(nn.Module):
    def __init__(self, widths=(8, 6, 4), slope: float = 0.1):
        super().__init__()
        self.slope = slope
        layers = []
        for a, b in zip(widths[:-1], widths[1:]):
            layers.append(
                nn.Sequential(
                    nn.Linear(a, b), nn.LayerNorm(b), nn.LeakyReLU(self.slope)
                )
            )
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
