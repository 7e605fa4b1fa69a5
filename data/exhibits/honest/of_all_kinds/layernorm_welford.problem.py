import torch
import torch.nn as nn

B = 40
D = 257


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln = nn.LayerNorm(d)

    def forward(self, x):
        return self.ln(x)


def get_inputs():
    return [torch.randn(B, D)]


def get_init_inputs():
    return [D]
