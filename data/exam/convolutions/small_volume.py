import torch
import torch.nn as nn


class Model(nn.Module):
    """Convolution of a volume, without bias."""

    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.conv = nn.Conv3d(in_ch, out_ch, kernel_size=(2, 3, 3), bias=False)

    def forward(self, volume):
        return self.conv(volume)


IN_CH, OUT_CH = 4, 7
D = 10
H = 16
W = 18


def get_inputs():
    return [torch.randn(2, IN_CH, D, H, W)]


def get_init_inputs():
    return [IN_CH, OUT_CH]
