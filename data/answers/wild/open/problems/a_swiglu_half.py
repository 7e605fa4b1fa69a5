import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQ = 96
HIDDEN = 344


class Model(nn.Module):
    """Half precision SwiGLU: the first half is the value, the second the gate."""

    def __init__(self):
        super().__init__()

    def forward(self, x):
        value, gate = x.chunk(2, dim=-1)
        return value * F.silu(gate)


def get_inputs():
    return [torch.randn(BATCH, SEQ, 2 * HIDDEN).half()]


def get_init_inputs():
    return []
