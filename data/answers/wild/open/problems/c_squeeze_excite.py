import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 64
REDUCED = 16
HEIGHT = 20
WIDTH = 21


class Model(nn.Module):
    def __init__(self, channels, reduced):
        super().__init__()
        self.fc1 = nn.Linear(channels, reduced)
        self.fc2 = nn.Linear(reduced, channels)

    def forward(self, x):
        s = x.mean(dim=(2, 3))
        s = torch.relu(self.fc1(s))
        s = torch.sigmoid(self.fc2(s))
        return x * s[:, :, None, None]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) + 0.5 * torch.randn(BATCH, CHANNELS, 1, 1)]


def get_init_inputs():
    return [CHANNELS, REDUCED]
