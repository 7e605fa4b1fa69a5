import torch
import torch.nn as nn


class Model(nn.Module):
    """A frozen projection with a low-rank update beside it.

    Args:
        d: width of input and output.
        r: rank of the update.
        alpha: its strength, which is divided by the rank.
    """

    def __init__(self, d: int, r: int, alpha: float):
        super().__init__()
        self.base = nn.Linear(d, d, bias=False)
        self.A = nn.Parameter(torch.randn(r, d) * 0.05)
        self.B = nn.Parameter(torch.randn(d, r) * 0.05)
        self.scaling = alpha / r

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        update = (x @ self.A.T) @ self.B.T
        return self.base(x) + self.scaling * update


WIDTH = 128
RANK = 6


def get_inputs():
    return [torch.randn(2, 70, WIDTH)]


def get_init_inputs():
    return [WIDTH, RANK, 12.0]
