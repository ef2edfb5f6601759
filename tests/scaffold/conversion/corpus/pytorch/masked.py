"""Blocks that are given a mask, and layers that are built on others."""

import math

import torch.nn as nn
import torch.nn.functional as F


class MaskedAttention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.o = nn.Linear(dim, dim)

    def forward(self, x, mask=None):
        b, t, d = x.shape
        q = self.q(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
        k = self.k(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
        v = self.v(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        y = F.softmax(scores, dim=-1) @ v
        return self.o(y.transpose(1, 2).contiguous().view(b, t, d))


class MaskedBlock(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.attn = MaskedAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, mask=None):
        return x + self.attn(self.norm(x), mask)


class PostNormBlock(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, mask=None):
        h, _ = self.attn(x, x, x, attn_mask=mask)
        return self.norm(x + h)


class ConvBNReLU(nn.Sequential):
    def __init__(self, in_planes, out_planes, kernel_size=3, stride=1, groups=1):
        padding = (kernel_size - 1) // 2
        super().__init__(
            nn.Conv2d(
                in_planes,
                out_planes,
                kernel_size,
                stride,
                padding,
                groups=groups,
                bias=False,
            ),
            nn.BatchNorm2d(out_planes),
            nn.ReLU6(inplace=True),
        )
