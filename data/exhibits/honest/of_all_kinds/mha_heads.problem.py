import torch
import torch.nn as nn

B = 2
S = 20
D = 32


class Model(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)

    def forward(self, x):
        B, S, D = x.shape
        q, k, v = self.qkv(x).view(B, S, 3, self.h, D // self.h).permute(2, 0, 3, 1, 4)
        o = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return o.transpose(1, 2).reshape(B, S, D)


def get_inputs():
    return [torch.randn(B, S, D)]


def get_init_inputs():
    return [D, 4]
