import torch
import torch.nn as nn
from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, logits, target):
        return LigerCrossEntropyFunction.apply(logits, target, None)[0]
