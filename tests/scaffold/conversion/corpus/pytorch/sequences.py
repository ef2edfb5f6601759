import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SequenceClassifier(nn.Module):
    """Classifies a sequence of tokens by the last state of an LSTM."""

    def __init__(self, vocab_size, embed_dim, hidden_dim, num_classes, dropout=0.2):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.lstm = nn.LSTM(
            embed_dim, hidden_dim, num_layers=2, batch_first=True, dropout=dropout
        )
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(hidden_dim, num_classes)

    def forward(self, tokens):
        embedded = self.dropout(self.embedding(tokens))
        _, (hidden, _) = self.lstm(embedded)
        return self.fc(self.dropout(hidden[-1]))


class Tagger(nn.Module):
    """A label for every step, from both directions."""

    def __init__(self, input_size, hidden_size, num_tags):
        super().__init__()
        self.rnn = nn.GRU(input_size, hidden_size, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden_size, num_tags)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.out(F.relu(states))


class GhostModule(nn.Module):
    """Half of the features by a convolution, the others by a cheap one of those."""

    def __init__(
        self, inp, oup, kernel_size=1, ratio=2, dw_size=3, stride=1, relu=True
    ):
        super().__init__()
        self.oup = oup
        init_channels = math.ceil(oup / ratio)
        new_channels = init_channels * (ratio - 1)
        self.primary_conv = nn.Sequential(
            nn.Conv2d(
                inp, init_channels, kernel_size, stride, kernel_size // 2, bias=False
            ),
            nn.BatchNorm2d(init_channels),
            nn.ReLU(inplace=True) if relu else nn.Sequential(),
        )
        self.cheap_operation = nn.Sequential(
            nn.Conv2d(
                init_channels,
                new_channels,
                dw_size,
                1,
                dw_size // 2,
                groups=init_channels,
                bias=False,
            ),
            nn.BatchNorm2d(new_channels),
            nn.ReLU(inplace=True) if relu else nn.Sequential(),
        )

    def forward(self, x):
        x1 = self.primary_conv(x)
        x2 = self.cheap_operation(x1)
        out = torch.cat([x1, x2], dim=1)
        return out[:, : self.oup, :, :]
