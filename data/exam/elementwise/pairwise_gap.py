import torch
from torch import nn


class Model(nn.Module):
  """Absolute difference of every pair of two lists."""

  def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a.unsqueeze(1) - b.unsqueeze(0)).abs()


LEFT = 640
RIGHT = 530


def get_inputs():
  return [torch.randn(LEFT), torch.randn(RIGHT)]


def get_init_inputs():
  return []
