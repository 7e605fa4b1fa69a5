import torch
import torch.nn as nn

TOKENS = 24
WIDTH = 40


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x, residual=None, eps=1e-5, return_residual=False):
        x = x if residual is None else x + residual
        normed = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * self.weight
        return (normed, x) if return_residual else normed


def get_inputs():
    return {"x": torch.randn(TOKENS, WIDTH), "residual": torch.randn(TOKENS, WIDTH)}


def get_init_inputs():
    return [WIDTH]
