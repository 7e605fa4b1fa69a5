import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, groups, per_group, taps):
        super().__init__()
        self.groups = groups
        self.filters = nn.Parameter(torch.randn(groups * per_group, per_group, taps) * 0.2)

    def forward(self, sig):
        return F.conv1d(sig, self.filters, bias=None, stride=1, padding='same', groups=self.groups)


GROUPS, PER_GROUP, TAPS = 4, 6, 5
n_records = 5
n_samples = 220


def get_inputs():
    return [torch.randn(n_records, GROUPS * PER_GROUP, n_samples)]


def get_init_inputs():
    return [GROUPS, PER_GROUP, TAPS]
