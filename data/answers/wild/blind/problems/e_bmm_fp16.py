import torch
import torch.nn as nn


class Model(nn.Module):
    """Scaled batched A @ B^T in half precision."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, a, b):
        return torch.bmm(a, b.transpose(1, 2)) * self.scale


batch_size = 8
M = 80
N = 112
K = 72


def get_inputs():
    a = torch.randn(batch_size, M, K).half()
    b = torch.randn(batch_size, N, K).half()
    return [a, b]


def get_init_inputs():
    return [0.125]
