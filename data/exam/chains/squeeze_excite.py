import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels, reduced):
        super(Model, self).__init__()
        self.down = nn.Linear(channels, reduced)
        self.up = nn.Linear(reduced, channels)

    def forward(self, x):
        # squeeze
        s = x.mean((2, 3))
        s = torch.relu(self.down(s))
        s = torch.sigmoid(self.up(s))
        # excite
        return x * s[:, :, None, None]


channels, reduced = 24, 6
n = 11
hw = 29


def get_inputs():
    return [torch.randn(n, channels, hw, hw)]


def get_init_inputs():
    return [channels, reduced]
