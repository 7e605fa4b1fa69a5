import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=stride, padding=padding)

    def forward(self, x):
        return F.hardswish(self.conv(x))


batch_size = 4
in_channels = 12
out_channels = 20
height = 33
width = 30
kernel_size = 3
stride = 2
padding = 1


def get_inputs():
    return [torch.randn(batch_size, in_channels, height, width) * 2]


def get_init_inputs():
    return [in_channels, out_channels, kernel_size, stride, padding]
