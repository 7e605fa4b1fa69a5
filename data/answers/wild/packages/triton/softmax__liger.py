import torch
import torch.nn as nn
from liger_kernel.ops.softmax import LigerSoftmaxFunction


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return LigerSoftmaxFunction.apply(x)
