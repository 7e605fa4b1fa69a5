import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return (y * (y.clamp_min(1e-10).log() - x)).sum() / x.shape[0]


def get_inputs():
    return [torch.randn(32, 400), torch.rand(32, 400)]


def get_init_inputs():
    return []
