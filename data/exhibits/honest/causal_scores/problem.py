import torch
import torch.nn as nn

SIZE = 48
WIDTH = 12


class Model(nn.Module):
    def forward(self, q, k, allowed):
        return (q @ k.T).masked_fill(~allowed, float("-inf"))


def get_inputs():
    allowed = torch.rand(SIZE, SIZE) < 0.6
    return [torch.randn(SIZE, WIDTH), torch.randn(SIZE, WIDTH), allowed]
