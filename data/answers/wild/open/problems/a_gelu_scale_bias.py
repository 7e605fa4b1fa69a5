import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 128
DIM = 1000


class Model(nn.Module):
    """Tanh GELU followed by a learned per-feature affine map."""

    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(dim) + 0.5)
        self.bias = nn.Parameter(torch.randn(dim) * 0.1)

    def forward(self, x):
        return F.gelu(x, approximate="tanh") * self.scale + self.bias


def get_inputs():
    return [torch.randn(BATCH, DIM)]


def get_init_inputs():
    return [DIM]
