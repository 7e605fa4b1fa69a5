import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.sum(0)


N = 96


def get_inputs():
    return [torch.randn(N, 40)]


def get_init_inputs():
    return []
