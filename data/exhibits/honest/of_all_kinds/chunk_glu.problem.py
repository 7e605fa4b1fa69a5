import torch
import torch.nn as nn

B = 30
D = 128


class Model(nn.Module):
    def forward(self, x):
        a, g = x.chunk(2, dim=-1)
        return a * torch.sigmoid(g)


def get_inputs():
    return [torch.randn(B, D)]


def get_init_inputs():
    return []
