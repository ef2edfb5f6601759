"""Values that a constructor sets again under conditions, PyTorch."""

import torch.nn as nn
import torch.nn.functional as F

ACT2FN = {"gelu": F.gelu, "relu": F.relu}


class BranchedScale(nn.Module):
    """Scales and shifts by what the arguments say of each other."""

    def __init__(self, dim, causal=False, window=16, scale=None, act="gelu"):
        super().__init__()
        self.window = window
        if dim <= self.window:
            # A window is at most as wide as what it is over.
            self.window = dim
        if causal:
            self.left = 2
        else:
            self.left = 1
        if scale is None:
            self.scale = dim**-0.5
        else:
            self.scale = scale
        self.width = 3
        if causal:
            self.width = 5
        self.width = self.width + 1
        self.act = ACT2FN[act]
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        y = self.act(self.fc(x)) * self.scale
        return y * self.left + self.window * self.width
