import torch
import torch.nn as nn

B = 2
CI = 4
CO = 5
D = 8
H = 9
W = 10


class Model(nn.Module):
    def __init__(self, ci, co):
        super().__init__()
        self.conv = nn.Conv3d(ci, co, 3, padding=1, bias=False)

    def forward(self, x):
        return nn.functional.leaky_relu(self.conv(x), 0.1)


def get_inputs():
    return [torch.randn(B, CI, D, H, W)]


def get_init_inputs():
    return [CI, CO]
