import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Depthwise-separable convolution.

    Args:
        inp: input channels.
        oup: output channels.
    """

    def __init__(self, inp, oup):
        super().__init__()
        self.dw = nn.Conv2d(inp, inp, 3, padding=1, groups=inp, bias=False)
        self.pw = nn.Conv2d(inp, oup, 1)

    def forward(self, x):
        return self.pw(self.dw(x))


inp, oup = 12, 20


def get_inputs():
    return [torch.randn(3, inp, 26, 30)]


def get_init_inputs():
    return [inp, oup]
