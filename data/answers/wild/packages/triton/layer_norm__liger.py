import torch
import torch.nn as nn
from liger_kernel.ops.layer_norm import LigerLayerNormFunction


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return LigerLayerNormFunction.apply(x, self.weight, self.bias, 1e-5)
