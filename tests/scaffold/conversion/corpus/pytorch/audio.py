"""WaveNet: convolutions that look back, built on those of the library."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalConv1d(nn.Conv1d):
    def __init__(self, in_channels, out_channels, kernel_size, dilation=1):
        super().__init__(
            in_channels, out_channels, kernel_size, padding=0, dilation=dilation
        )
        self.left_pad = (kernel_size - 1) * dilation

    def forward(self, x):
        return super().forward(F.pad(x, (self.left_pad, 0)))


class ResidualLayer(nn.Module):
    def __init__(self, residual_channels, skip_channels, kernel_size, dilation):
        super().__init__()
        self.conv = CausalConv1d(
            residual_channels, 2 * residual_channels, kernel_size, dilation
        )
        self.res = nn.Conv1d(residual_channels, residual_channels, 1)
        self.skip = nn.Conv1d(residual_channels, skip_channels, 1)

    def forward(self, x):
        filt, gate = torch.chunk(self.conv(x), 2, dim=1)
        h = torch.tanh(filt) * torch.sigmoid(gate)
        return x + self.res(h), self.skip(h)


class WaveNet(nn.Module):
    def __init__(
        self,
        in_channels=1,
        residual_channels=8,
        skip_channels=16,
        out_channels=4,
        kernel_size=2,
        num_layers=4,
    ):
        super().__init__()
        self.input = CausalConv1d(in_channels, residual_channels, kernel_size)
        self.layers = nn.ModuleList()
        for i in range(num_layers):
            self.layers.append(
                ResidualLayer(residual_channels, skip_channels, kernel_size, 2**i)
            )
        self.out = nn.Sequential(
            nn.ReLU(),
            nn.Conv1d(skip_channels, skip_channels, 1),
            nn.ReLU(),
            nn.Conv1d(skip_channels, out_channels, 1),
        )

    def forward(self, x):
        x = self.input(x)
        skips = 0
        for layer in self.layers:
            x, s = layer(x)
            skips = skips + s
        return self.out(skips)
