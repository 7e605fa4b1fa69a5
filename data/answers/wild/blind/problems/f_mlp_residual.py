import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Transformer style MLP block: x + fc2(gelu(fc1(x)))."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        return x + self.fc2(F.gelu(self.fc1(x)))


ROWS = 70
DIM = 96
HIDDEN = 200


def get_inputs():
    return [torch.randn(ROWS, DIM)]


def get_init_inputs():
    return [DIM, HIDDEN]
