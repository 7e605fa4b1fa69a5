import torch
import torch.nn as nn


class Model(nn.Module):
    """
    'Same' dilated 1D convolution (odd kernels) with ReLU, as in a TCN block.
    """

    def __init__(self, in_channels, out_channels, kernel_size, dilation):
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size,
                              padding=dilation * (kernel_size - 1) // 2, dilation=dilation)

    def forward(self, x):
        return torch.relu(self.conv(x))


BATCH = 4
IN_CHANNELS = 18
OUT_CHANNELS = 28
LENGTH = 250
KERNEL_SIZE = 5
DILATION = 2


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, LENGTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS, KERNEL_SIZE, DILATION]
