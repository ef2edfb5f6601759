"""Utility classes for NICE / RealNVP."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self, in_dim, hidden_dim, out_dim, num_hidden=2):
        super().__init__()
        layers = [nn.Linear(in_dim, hidden_dim), nn.LeakyReLU(0.2)]
        for _ in range(num_hidden - 1):
            layers += [nn.Linear(hidden_dim, hidden_dim), nn.LeakyReLU(0.2)]
        layers.append(nn.Linear(hidden_dim, out_dim))
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


class AffineCoupling(nn.Module):
    def __init__(self, dim, hidden_dim, parity, scale=True, shift=True):
        super().__init__()
        self.dim = dim
        self.parity = parity
        self.s_cond = lambda x: x.new_zeros(x.size(0), self.dim // 2)
        self.t_cond = lambda x: x.new_zeros(x.size(0), self.dim // 2)
        if scale:
            self.s_cond = MLP(self.dim // 2, hidden_dim, self.dim // 2)
        if shift:
            self.t_cond = MLP(self.dim // 2, hidden_dim, self.dim // 2)

    def forward(self, x):
        x0, x1 = x[:, ::2], x[:, 1::2]
        if self.parity:
            x0, x1 = x1, x0
        s = self.s_cond(x0)
        t = self.t_cond(x0)
        z0 = x0  # untouched half
        z1 = torch.exp(s) * x1 + t  # transform this half as a function of the other
        if self.parity:
            z0, z1 = z1, z0
        z = torch.cat([z0, z1], dim=1)
        log_det = torch.sum(s, dim=1)
        return z, log_det


class NormalizingFlow(nn.Module):
    """A sequence of flows is itself a flow."""

    def __init__(self, dim, hidden_dim=24, num_flows=4):
        super().__init__()
        self.flows = nn.ModuleList(
            [AffineCoupling(dim, hidden_dim, parity=i % 2) for i in range(num_flows)]
        )
        self.register_buffer("prior_mean", torch.zeros(dim))

    def forward(self, x):
        m, _ = x.shape
        log_det = torch.zeros(m)
        zs = [x]
        for flow in self.flows:
            x, ld = flow.forward(x)
            log_det += ld
            zs.append(x)
        return torch.cat([zs[-1], log_det[:, None]], dim=1)
