import torch
import torch.nn as nn

BATCH = 4
GROUPS = 8
CH_PER_GROUP = 6
HEIGHT = 28
WIDTH = 30


class Model(nn.Module):
    def __init__(self, num_groups, num_channels):
        super().__init__()
        self.gn = nn.GroupNorm(num_groups, num_channels)
        nn.init.uniform_(self.gn.weight, 0.5, 1.5)
        nn.init.uniform_(self.gn.bias, -0.3, 0.3)

    def forward(self, x):
        x = self.gn(x)
        return x * torch.sigmoid(x)


def get_inputs():
    return [torch.randn(BATCH, GROUPS * CH_PER_GROUP, HEIGHT, WIDTH)]


def get_init_inputs():
    return [GROUPS, GROUPS * CH_PER_GROUP]
