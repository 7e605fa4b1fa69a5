import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=-1, keepdim=True) / 127
        return torch.round(x / scale) * scale


def get_inputs():
    return [torch.randn(4096, 512)]


def get_init_inputs():
    return []
