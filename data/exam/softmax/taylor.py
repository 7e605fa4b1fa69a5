import torch
import torch.nn as nn


class Model(nn.Module):
  # second-order Taylor expansion of exp, normalised over the last axis
  def forward(self, z):
    num = 1 + z + 0.5 * z * z
    return num / num.sum(-1, keepdim=True)


R = 301
C = 420


def get_inputs():
  return [torch.randn(R, C)]


def get_init_inputs():
  return []
