import torch
import torch.nn as nn

B = 2
CI = 6
CO = 5
H = 14
W = 11


class Model(nn.Module):
    def __init__(self, ci, co):
        super().__init__()
        self.up = nn.ConvTranspose2d(ci, co, 4, stride=2, padding=1)

    def forward(self, x):
        return self.up(x)


def get_inputs():
    return [torch.randn(B, CI, H, W)]


def get_init_inputs():
    return [CI, CO]
