import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
SEQ = 96
DIM = 320


class Model(nn.Module):
    """RMS norm of x, multiplied by a SiLU gate."""

    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim))

    def forward(self, x, gate):
        inv = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return x * inv * self.weight * F.silu(gate)


def get_inputs():
    return [torch.randn(BATCH, SEQ, DIM), torch.randn(BATCH, SEQ, DIM)]


def get_init_inputs():
    return [DIM]
