import itertools

import torch
import torch.nn as nn

D = 24


class Model(nn.Module):
    def forward(self, x, offsets):
        parts = [x[a:b].sum(0) for a, b in itertools.pairwise(offsets)]
        return torch.stack(parts)


def get_inputs():
    return [torch.randn(40, D), torch.tensor([0, 3, 10, 11, 24, 40])]


def get_init_inputs():
    return []
