import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
TOKENS = 512
WIDTH = 512


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias, std=0.1)

    def forward(self, x):
        return x + F.gelu(self.norm(x))


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH) * 2.0 + 0.3]


def get_init_inputs():
    return [WIDTH]
