import torch
import torch.nn as nn

B = 16
S = 50
D = 24


class Model(nn.Module):
    def forward(self, x, mask):
        m = mask[..., None]
        return x.masked_fill(~m, 0.0).sum(1) / m.sum(1)


def get_inputs():
    return [torch.randn(B, S, D), torch.rand(B, S) > 0.3]


def get_init_inputs():
    return []
