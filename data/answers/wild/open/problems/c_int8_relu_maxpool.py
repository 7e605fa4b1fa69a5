import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 16
HEIGHT = 41
WIDTH = 40
POOL = 2


class Model(nn.Module):
    """ReLU and max pooling of quantised (int8) activations."""

    def __init__(self, pool):
        super().__init__()
        self.pool = pool

    def forward(self, x):
        k = self.pool
        windows = x.unfold(2, k, k).unfold(3, k, k)
        return windows.amax(dim=(-2, -1)).clamp(min=0)


def get_inputs():
    return [torch.randint(-128, 128, (BATCH, CHANNELS, HEIGHT, WIDTH), dtype=torch.int8)]


def get_init_inputs():
    return [POOL]
