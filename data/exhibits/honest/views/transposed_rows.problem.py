import torch
import torch.nn as nn

FEATURES = 48
BATCH = 40


class Model(nn.Module):
    def forward(self, x):
        return x / x.abs().sum(dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(FEATURES, BATCH).t()]


def get_init_inputs():
    return []
