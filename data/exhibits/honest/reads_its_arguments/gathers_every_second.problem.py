import torch
import torch.nn as nn

R = 10
N = 30


class Model(nn.Module):
    def forward(self, x, index):
        return x.index_select(1, index) * 2 - 1


def get_inputs():
    return [torch.randn(R, 2 * N), torch.arange(0, 2 * N, 2)]


def get_init_inputs():
    return []
