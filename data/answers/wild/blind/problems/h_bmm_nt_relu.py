import torch
import torch.nn as nn


class Model(nn.Module):
    """relu(alpha * A @ B^T) for a batch of bfloat16 matrices."""

    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, a, b):
        return torch.relu(torch.bmm(a, b.transpose(1, 2)) * self.alpha)


BATCH = 4
M = 100
N = 120
K = 72


def get_inputs():
    return [torch.randn(BATCH, M, K).to(torch.bfloat16), torch.randn(BATCH, N, K).to(torch.bfloat16)]


def get_init_inputs():
    return [0.125]
