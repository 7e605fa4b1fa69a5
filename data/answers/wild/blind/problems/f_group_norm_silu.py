import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels, eps=1e-5)

    def forward(self, x):
        return F.silu(self.gn(x))


BATCH = 4
GROUPS = 6
CH_PER_GROUP = 4
HEIGHT = 19
WIDTH = 21


def get_inputs():
    return [torch.randn(BATCH, GROUPS * CH_PER_GROUP, HEIGHT, WIDTH) * 1.5 + 0.3]


def get_init_inputs():
    return [GROUPS, GROUPS * CH_PER_GROUP]
