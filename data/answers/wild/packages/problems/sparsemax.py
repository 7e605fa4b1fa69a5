import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        ordered = x.sort(dim=-1, descending=True).values
        sums = ordered.cumsum(-1) - 1
        count = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
        last = (ordered * count > sums).sum(-1, keepdim=True)
        return (x - sums.gather(-1, last - 1) / last).clamp_min(0)


def get_inputs():
    return [torch.randn(40, 200)]


def get_init_inputs():
    return []
