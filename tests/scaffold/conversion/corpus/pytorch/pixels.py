"""The masked convolution of PixelCNN, whose constructor fills its mask."""

import torch
import torch.nn as nn


class MaskedConv2d(nn.Conv2d):
    """Sees the pixels above and to the left; "B" sees the pixel itself, too."""

    def __init__(self, mask_type, in_channels, out_channels, kernel_size, padding=0):
        super().__init__(in_channels, out_channels, kernel_size, padding=padding)
        assert mask_type in ("A", "B")
        self.register_buffer("mask", self.weight.data.clone())
        _, _, h, w = self.weight.size()
        self.mask.fill_(1)
        self.mask[:, :, h // 2, w // 2 + (mask_type == "B") :] = 0
        self.mask[:, :, h // 2 + 1 :] = 0

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)
