import torch
import torch.nn as nn
import torch.nn.functional as F


class ShiftBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Parameter(torch.rand(dim))

    def forward(self, x):
        prev = F.pad(x, (0, 0, 1, 0))[:, :-1]
        mixed = x * self.mix + prev * (1.0 - self.mix)
        return x + 0.1 * torch.tanh(mixed)


class Model(nn.Module):
    """A stack of token-shift residual blocks."""

    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = nn.ModuleList([ShiftBlock(dim) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


BATCH = 4
SEQ = 75
DIM = 128
DEPTH = 9


def get_inputs():
    return [torch.randn(BATCH, SEQ, DIM)]


def get_init_inputs():
    return [DIM, DEPTH]
