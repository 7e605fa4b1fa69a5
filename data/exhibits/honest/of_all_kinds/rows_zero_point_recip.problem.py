import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        lo, hi = x.amin(dim=-1, keepdim=True), x.amax(dim=-1, keepdim=True)
        s = (hi - lo) / 255
        z = torch.round(-lo / s)
        q = torch.clamp(torch.round(x / s) + z, 0, 255)
        return (q - z) * s


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return []
