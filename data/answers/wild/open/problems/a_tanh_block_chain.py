import torch
import torch.nn as nn

BATCH = 150
DIM = 190
NUM_BLOCKS = 9


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(dim))
        self.shift = nn.Parameter(0.1 * torch.randn(dim))

    def forward(self, x):
        return x + torch.tanh(x * self.scale + self.shift)


class Model(nn.Module):
    """A stack of residual blocks with a per-feature affine tanh branch."""

    def __init__(self, dim, num_blocks):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim) for _ in range(num_blocks)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def get_inputs():
    return [torch.randn(BATCH, DIM) * 0.5]


def get_init_inputs():
    return [DIM, NUM_BLOCKS]
