import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Gated activation: silu(gate) * clamp(up) plus a small leak of the gate.
    """

    def __init__(self, limit: float, alpha: float):
        super(Model, self).__init__()
        self.limit = limit
        self.alpha = alpha

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return F.silu(gate) * torch.clamp(up, -self.limit, self.limit) + self.alpha * gate


ROWS = 384
COLS = 1000


def get_inputs():
    return [torch.randn(ROWS, COLS), 2.5 * torch.randn(ROWS, COLS)]


def get_init_inputs():
    return [3.0, 0.1]
