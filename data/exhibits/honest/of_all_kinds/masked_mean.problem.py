import torch
import torch.nn as nn

B = 16
S = 50
D = 24


class Model(nn.Module):
    def forward(self, x, mask):
        w = mask[..., None]
        return (x * w).sum(1) / w.sum(1).clamp(min=1.0)


def get_inputs():
    return [torch.randn(B, S, D), (torch.rand(B, S) > 0.5).float()]


def get_init_inputs():
    return []
