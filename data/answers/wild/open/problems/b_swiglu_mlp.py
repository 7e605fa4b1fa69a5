import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
TOKENS = 30
DIM = 96
HIDDEN = 200


class Model(nn.Module):
    """LLaMA style feed forward."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


def get_inputs():
    return [torch.randn(BATCH, TOKENS, DIM)]


def get_init_inputs():
    return [DIM, HIDDEN]
