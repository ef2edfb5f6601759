import torch
from torch import nn
from torch.nn.utils import spectral_norm


class ResBlockDown(nn.Module):
    def __init__(self, in_channels, out_channels, first=False):
        super().__init__()
        self.first = first
        self.conv1 = spectral_norm(nn.Conv2d(in_channels, out_channels, 3, 1, 1))
        self.conv2 = spectral_norm(nn.Conv2d(out_channels, out_channels, 3, 1, 1))
        self.bypass = spectral_norm(nn.Conv2d(in_channels, out_channels, 1, 1, 0))
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.AvgPool2d(2)

    def forward(self, x):
        h = x
        if not self.first:
            h = self.relu(x)
        h = self.conv2(self.relu(self.conv1(h)))
        return self.pool(h) + self.pool(self.bypass(x))


class Discriminator(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.model = nn.Sequential(
            ResBlockDown(3, ch, first=True),
            ResBlockDown(ch, ch * 2),
            nn.ReLU(),
        )
        self.fc = spectral_norm(nn.Linear(ch * 2, 1))
        nn.init.xavier_uniform_(self.fc.weight.data, 1.0)

    def forward(self, x):
        h = self.model(x)
        h = torch.sum(h, dim=(2, 3))
        return self.fc(h)
