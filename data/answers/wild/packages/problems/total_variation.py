import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, p, q):
        return 0.5 * (p - q).abs().sum() / p.shape[0]


def get_inputs():
    return [torch.rand(32, 300), torch.rand(32, 300)]


def get_init_inputs():
    return []
