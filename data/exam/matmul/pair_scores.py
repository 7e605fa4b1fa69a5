import torch
import torch.nn as nn


class Model(nn.Module):
  """Dot product of every left with every right vector, batch by batch."""

  def forward(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return torch.bmm(left, right.transpose(1, 2))


b, m, n, d = 11, 80, 72, 48


def get_inputs():
  return [torch.randn(b, m, d), torch.randn(b, n, d)]


def get_init_inputs():
  return []
