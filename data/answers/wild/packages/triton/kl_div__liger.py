import torch
import torch.nn as nn
from liger_kernel.ops.kl_div import LigerKLDivLossFunction


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return LigerKLDivLossFunction.apply(x, y, "batchmean")
