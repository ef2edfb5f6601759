"""Networks that remember what goes by, PyTorch."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    """Two convolutions, each normalized."""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        if not mid_channels:
            mid_channels = out_channels
        self.block = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.block(x)


class UNet(nn.Module):
    """A U-Net with a list of what is skipped (Ronneberger et al., 2015)."""

    def __init__(self, in_channels=3, out_channels=1, features=(4, 8)):
        super().__init__()
        self.ups = nn.ModuleList()
        self.downs = nn.ModuleList()
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)

        for feature in features:
            self.downs.append(ConvBlock(in_channels, feature))
            in_channels = feature

        for feature in reversed(features):
            self.ups.append(nn.ConvTranspose2d(feature * 2, feature, 2, stride=2))
            self.ups.append(ConvBlock(feature * 2, feature))

        self.bottleneck = ConvBlock(features[-1], features[-1] * 2)
        self.final_conv = nn.Conv2d(features[0], out_channels, kernel_size=1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottleneck(x)
        skips = skips[::-1]
        for idx in range(0, len(self.ups), 2):
            x = self.ups[idx](x)
            x = torch.cat((skips[idx // 2], x), dim=1)
            x = self.ups[idx + 1](x)
        return self.final_conv(x)


class RandomFeatures(nn.Module):
    """Features of a Gaussian kernel, by random frequencies (Rahimi & Recht, 2007)."""

    def __init__(self, in_features, out_features=16, scale=2.0):
        super().__init__()
        frequencies = torch.randn(in_features, out_features) * scale
        self.register_buffer("frequencies", frequencies)
        phase = torch.rand(out_features) * 2 * math.pi
        self.register_buffer("phase", phase, persistent=False)
        self.gain = math.sqrt(2.0 / out_features)

    def forward(self, x):
        return self.gain * torch.cos(x @ self.frequencies + self.phase)


class KeyedAttention(nn.Module):
    """Attends to a normalized context; `keys` are arrays here."""

    def __init__(self, dim, num_heads=2):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, num_heads, batch_first=True)

    def forward(self, query, context):
        keys = self.norm(context)
        out, _ = self.attn(query=query, key=keys, value=keys)
        return query + out


class Tapered(nn.Module):
    """Convolutions whose widths a loop changes, between and after lists of them."""

    def __init__(self, channels=3, widths=(4, 8)):
        super().__init__()
        self.downs = nn.ModuleList()
        before = channels
        for width in widths:
            self.downs.append(nn.Conv2d(before, width, 3, padding=1))
            before = width
        self.middle = nn.Conv2d(before, before, 3, padding=1)
        self.ups = nn.ModuleList()
        for width in reversed(widths):
            self.ups.append(nn.Conv2d(before + width, width, 3, padding=1))
            before = width
        self.head = nn.Conv2d(before, channels, 1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = F.silu(down(x))
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up, skip in zip(self.ups, reversed(skips)):
            x = F.interpolate(x, scale_factor=2, mode="nearest")
            x = F.silu(up(torch.cat([x, skip], dim=1)))
        return self.head(x)
