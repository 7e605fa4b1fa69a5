import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Depthwise 2D convolution with stride, followed by SiLU.
    """

    def __init__(self, channels, kernel_size, stride):
        super(Model, self).__init__()
        self.dw = nn.Conv2d(channels, channels, kernel_size, stride=stride,
                            padding=kernel_size // 2, groups=channels)

    def forward(self, x):
        return F.silu(self.dw(x))


BATCH = 3
CHANNELS = 24
HEIGHT = 57
WIDTH = 61
KERNEL = 3
STRIDE = 2


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, KERNEL, STRIDE]
