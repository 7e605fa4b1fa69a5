import torch
import torch.nn as nn


class Model(nn.Module):
    """Compounds bounded daily returns over a period."""

    def __init__(self, limit: float):
        super().__init__()
        self.limit = limit

    def forward(self, returns: torch.Tensor) -> torch.Tensor:
        bounded = self.limit * torch.tanh(returns)
        return (1.0 + bounded).prod(dim=-1)


ASSETS = 500
DAYS = 90


def get_inputs():
    return [torch.randn(ASSETS, DAYS)]


def get_init_inputs():
    return [0.08]
