import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """x + fc2(gelu(fc1(layernorm(x))))"""

    def __init__(self, dim, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, dim)

    def forward(self, x):
        h = self.fc1(self.norm(x))
        h = F.gelu(h)
        return x + self.fc2(h)


batch_size = 8
seq_len = 25
dim = 120
hidden = 240


def get_inputs():
    return [torch.randn(batch_size, seq_len, dim)]


def get_init_inputs():
    return [dim, hidden]
