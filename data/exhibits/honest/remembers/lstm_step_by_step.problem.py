import torch
import torch.nn as nn

B, T, D, H = 2, 192, 8, 16


class Model(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.rnn = nn.LSTM(d, h, batch_first=True)

    def forward(self, x):
        found, _ = self.rnn(x)
        return found[:, -1]


def get_inputs():
    return [torch.randn(B, T, D)]


def get_init_inputs():
    return [D, H]
