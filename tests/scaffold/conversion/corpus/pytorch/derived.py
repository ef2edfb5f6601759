"""Layers that are built on those of PyTorch and use their weights."""

import torch.nn as nn
import torch.nn.functional as F


class CosineLinear(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features, bias=False)

    def forward(self, x):
        return F.linear(F.normalize(x, dim=-1), F.normalize(self.weight, dim=-1))


class WSConv2d(nn.Conv2d):
    def __init__(self, in_channels, out_channels, kernel_size, **kwargs):
        super().__init__(
            in_channels, out_channels, kernel_size, padding=kernel_size // 2
        )

    def forward(self, x):
        weight = self.weight - self.weight.mean(dim=[1, 2, 3], keepdim=True)
        return self._conv_forward(x, weight, self.bias)


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CosineNet(nn.Module):
    """Standardized weights, a norm over channels, and a cosine for each class."""

    def __init__(self, channels=8, num_classes=4):
        super().__init__()
        self.conv = WSConv2d(3, channels, 3)
        self.norm = LayerNorm2d(channels)
        self.head = CosineLinear(channels, num_classes)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.conv(x))).mean((2, 3)))
