import torch
from torch import Tensor, nn

SLOPE = 0.05

N, D = 250, 600


class Model(nn.Module):
    def forward(self, inp: Tensor) -> Tensor:
        upper = 1.0 + SLOPE * (inp - 1.0)
        lower = -1.0 + SLOPE * (inp + 1.0)
        return torch.where(inp > 1.0, upper, torch.where(inp < -1.0, lower, inp))


def get_inputs():
    return [2.0 * torch.randn(N, D)]
