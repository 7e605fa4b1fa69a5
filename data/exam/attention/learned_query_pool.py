import torch
import torch.nn as nn


class Model(nn.Module):
    """Attention pooling: one learned query reads a set of instances."""

    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, bag: torch.Tensor) -> torch.Tensor:
        a = self.score(bag)  # (bags, instances, 1)
        a = torch.softmax(a, dim=1)
        return torch.sum(a * bag, dim=1)


width = 96
bags = 24
instances = 110


def get_inputs():
    return [torch.randn(bags, instances, width)]


def get_init_inputs():
    return [width]
