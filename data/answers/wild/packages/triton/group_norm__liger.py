import torch
import torch.nn as nn
from liger_kernel.ops.group_norm import LigerGroupNormFunction


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        return LigerGroupNormFunction.apply(x, self.weight, self.bias, x.shape[1], 4, 1e-5)
