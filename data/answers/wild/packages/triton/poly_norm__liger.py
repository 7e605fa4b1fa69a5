import torch
import torch.nn as nn
from liger_kernel.ops.poly_norm import LigerPolyNormFunction


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), 1 / 3))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return LigerPolyNormFunction.apply(x, self.weight, self.bias, 1e-6, False)
