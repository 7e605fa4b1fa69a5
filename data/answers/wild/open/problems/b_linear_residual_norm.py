import torch
import torch.nn as nn

BATCH = 96
DIM = 160


class Model(nn.Module):
    """norm(x + relu(fc(x)))"""

    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.fc = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x):
        return self.norm(x + torch.relu(self.fc(x)))


def get_inputs():
    return [torch.randn(BATCH, DIM)]


def get_init_inputs():
    return [DIM]
