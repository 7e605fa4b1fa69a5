import torch
import torch.nn as nn


class Model(nn.Module):
    """Pre-norm feed-forward block of a transformer.

    Args:
        dim: width of the residual stream.
        mult: how many times wider the hidden layer is.
    """

    def __init__(self, dim: int, mult: int = 2):
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(dim),
            nn.Linear(dim, dim * mult),
            nn.GELU(),
            nn.Linear(dim * mult, dim),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.net(x)


DIM = 48
TOKENS = 90


def get_inputs():
    return [torch.randn(2, TOKENS, DIM)]


def get_init_inputs():
    return [DIM, 2]
