import torch
import torch.nn as nn

BATCH = 6
M = 72
K = 50
N = 90
SCALE_PERCENT = 50


class Model(nn.Module):
    """Batched matmul, scaled, plus a bias over the last dimension, then leaky relu."""

    def __init__(self, n, scale, negative_slope=0.1):
        super().__init__()
        self.scale = scale
        self.negative_slope = negative_slope
        self.bias = nn.Parameter(torch.randn(n))

    def forward(self, a, b):
        y = torch.bmm(a, b) * self.scale + self.bias
        return torch.nn.functional.leaky_relu(y, self.negative_slope)


def get_inputs():
    return [torch.randn(BATCH, M, K), torch.randn(BATCH, K, N)]


def get_init_inputs():
    return [N, SCALE_PERCENT / 100.0]
