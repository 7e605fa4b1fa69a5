import torch
import torch.nn as nn

N = 50000


class Model(nn.Module):
    def forward(self, a, b, delta):
        d = (a - b).abs()
        return torch.where(d < delta, 0.5 * d * d, delta * (d - 0.5 * delta)).sum(), d.max()


def get_inputs():
    return [torch.randn(N), torch.randn(N), 1.5]


def get_init_inputs():
    return []
