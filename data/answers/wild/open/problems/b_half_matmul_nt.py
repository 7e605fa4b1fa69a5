import torch
import torch.nn as nn

M = 150
N = 120
K = 128


class Model(nn.Module):
    """fp16 A @ B^T, scaled."""

    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        return torch.matmul(a, b.t()) * self.alpha


def get_inputs():
    return [torch.randn(M, K).half(), torch.randn(N, K).half()]


def get_init_inputs():
    return [0.125]
