import torch
import torch.nn as nn

ROWS = 128
IN_FEATURES = 200
OUT_FEATURES = 144


class Model(nn.Module):
    """Linear layer whose weight is g * v / ||v|| (row by row)."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.v = nn.Parameter(torch.randn(out_features, in_features) * 0.05)
        self.g = nn.Parameter(torch.rand(out_features) + 0.5)
        self.bias = nn.Parameter(torch.randn(out_features) * 0.1)

    def forward(self, x):
        w = self.v * (self.g / self.v.norm(dim=1)).unsqueeze(1)
        return x @ w.t() + self.bias


def get_inputs():
    return [torch.randn(ROWS, IN_FEATURES)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
