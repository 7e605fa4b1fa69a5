import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 32
HEIGHT = 33
WIDTH = 36
KSIZE = 3
STRIDE = 2


class Model(nn.Module):
    """Max pooling that also returns the flat positions (for later unpooling)."""

    def __init__(self, ksize, stride):
        super().__init__()
        self.ksize = ksize
        self.stride = stride
        self.padding = ksize // 2

    def forward(self, x):
        values, indices = F.max_pool2d(x, self.ksize, self.stride, self.padding, return_indices=True)
        return values, indices


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [KSIZE, STRIDE]
