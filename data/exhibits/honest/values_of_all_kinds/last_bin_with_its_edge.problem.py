import torch
import torch.nn as nn

B = 48
N = 160


class Model(nn.Module):
    def forward(self, x, ids):
        bins = torch.histc(x, bins=8, min=-3.0, max=3.0)
        return bins.long() + torch.bincount(ids, minlength=8)


def get_inputs():
    return [torch.randn(B * N), torch.randint(0, 8, (B * N,))]


def get_init_inputs():
    return []
