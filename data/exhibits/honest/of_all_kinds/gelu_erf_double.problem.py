import torch
import torch.nn as nn

B = 20
N = 1500


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.gelu(x)


def get_inputs():
    return [torch.randn(B, N)]


def get_init_inputs():
    return []
