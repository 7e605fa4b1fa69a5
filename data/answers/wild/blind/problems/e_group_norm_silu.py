import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels, eps=1e-5)
        nn.init.normal_(self.gn.weight, 1.0, 0.2)
        nn.init.normal_(self.gn.bias, 0.0, 0.2)

    def forward(self, x):
        return F.silu(self.gn(x))


batch_size = 8
num_groups = 6
channels_per_group = 8
height = 20
width = 21


def get_inputs():
    return [torch.randn(batch_size, num_groups * channels_per_group, height, width) + 0.5]


def get_init_inputs():
    return [num_groups, num_groups * channels_per_group]
