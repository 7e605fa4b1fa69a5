import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """x + mish(Linear(x))"""

    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return x + F.mish(self.fc(x))


batch = 200
dim = 192


def get_inputs():
    return [torch.randn(batch, dim)]


def get_init_inputs():
    return [dim]
