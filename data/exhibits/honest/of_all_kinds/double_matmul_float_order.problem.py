import torch
import torch.nn as nn

M = 40
K = 50
N = 45


class Model(nn.Module):
    def forward(self, a, b):
        return torch.einsum("ik,jk->ij", a, b)


def get_inputs():
    return [torch.randn(M, K, dtype=torch.float64), torch.randn(N, K, dtype=torch.float64)]


def get_init_inputs():
    return []
