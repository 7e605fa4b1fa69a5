import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-3):
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(tokens, (self.dim,), eps=self.eps)


DIM = 240


def get_inputs():
    return [torch.randn(3, 110, DIM)]


def get_init_inputs():
    return [DIM]
