import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Per-feature affine followed by the tanh form of GELU."""

    def __init__(self, features):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(features))
        self.shift = nn.Parameter(torch.randn(features))

    def forward(self, x):
        return F.gelu(x * self.scale + self.shift, approximate="tanh")


batch_size = 16
seq_len = 50
features = 300


def get_inputs():
    return [torch.randn(batch_size, seq_len, features)]


def get_init_inputs():
    return [features]
