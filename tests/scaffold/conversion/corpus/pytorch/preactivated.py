import torch
import torch.nn as nn
import torch.nn.functional as F


class PreActivated(nn.Module):
    """A residual map whose activation works in place: what it adds is the activated input."""

    def __init__(self, dim):
        super().__init__()
        self.fc1 = nn.Linear(dim, dim)
        self.fc2 = nn.Linear(dim, dim)
        self.relu = nn.ReLU(inplace=True)
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        identity = x
        out = self.fc1(self.relu(x))
        gate = out
        out = F.leaky_relu(out, 0.1, True)
        out = self.fc2(out)
        out += identity
        out.mul_(self.scale)
        return out + gate


class Downsampled(nn.Module):
    """Blocks that change what they are given, called with what is read again."""

    def __init__(self, dim):
        super().__init__()
        self.first = PreActivated(dim)
        self.second = nn.Sequential(nn.ReLU(True), nn.Linear(dim, dim), nn.Tanh())

    def forward(self, x):
        y = self.first(x)
        return torch.cat([x, y, self.second(y)], dim=-1)
