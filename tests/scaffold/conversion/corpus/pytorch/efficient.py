import torch
import torch.nn as nn


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


def drop_connect(inputs, p, training):
    """Drop connect."""
    if not training:
        return inputs
    batch_size = inputs.shape[0]
    keep_prob = 1 - p
    random_tensor = keep_prob
    random_tensor += torch.rand(
        [batch_size, 1, 1, 1], dtype=inputs.dtype, device=inputs.device
    )
    binary_tensor = torch.floor(random_tensor)
    output = inputs / keep_prob * binary_tensor
    return output


class MBConvBlock(nn.Module):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        expand_ratio,
        se_ratio=0.25,
        drop_connect_rate=0.2,
    ):
        super().__init__()
        self.expand_ratio = expand_ratio
        self.has_se = (se_ratio is not None) and (0 < se_ratio <= 1)
        self.id_skip = stride == 1 and in_channels == out_channels
        self.drop_connect_rate = drop_connect_rate
        mid = in_channels * expand_ratio
        if expand_ratio != 1:
            self._expand_conv = nn.Conv2d(in_channels, mid, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(mid, momentum=0.01, eps=1e-3)
        self._depthwise_conv = nn.Conv2d(
            mid,
            mid,
            kernel_size,
            stride=stride,
            padding=kernel_size // 2,
            groups=mid,
            bias=False,
        )
        self._bn1 = nn.BatchNorm2d(mid, momentum=0.01, eps=1e-3)
        if self.has_se:
            num_squeezed_channels = max(1, int(in_channels * se_ratio))
            self._se_reduce = nn.Conv2d(mid, num_squeezed_channels, 1)
            self._se_expand = nn.Conv2d(num_squeezed_channels, mid, 1)
        self._project_conv = nn.Conv2d(mid, out_channels, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(out_channels, momentum=0.01, eps=1e-3)
        self._swish = Swish()

    def forward(self, inputs):
        x = inputs
        if self.expand_ratio != 1:
            x = self._expand_conv(inputs)
            x = self._bn0(x)
            x = self._swish(x)
        x = self._depthwise_conv(x)
        x = self._bn1(x)
        x = self._swish(x)
        if self.has_se:
            x_squeezed = x.mean((2, 3), keepdim=True)
            x_squeezed = self._se_reduce(x_squeezed)
            x_squeezed = self._swish(x_squeezed)
            x_squeezed = self._se_expand(x_squeezed)
            x = torch.sigmoid(x_squeezed) * x
        x = self._project_conv(x)
        x = self._bn2(x)
        if self.id_skip:
            if self.drop_connect_rate:
                x = drop_connect(x, p=self.drop_connect_rate, training=self.training)
            x = x + inputs
        return x
