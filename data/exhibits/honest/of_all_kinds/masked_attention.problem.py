import math

import torch
import torch.nn as nn

B = 2
H = 4
S = 64
D = 32


class Model(nn.Module):
    def forward(self, q, k, v, mask):
        s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        s = s.masked_fill(~mask, float("-inf"))
        return torch.softmax(s, -1) @ v


def get_inputs():
    m = torch.ones(S, S, dtype=torch.bool).tril()
    return [torch.randn(B, H, S, D), torch.randn(B, H, S, D), torch.randn(B, H, S, D), m]


def get_init_inputs():
    return []
