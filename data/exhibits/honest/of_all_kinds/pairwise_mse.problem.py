import torch
import torch.nn as nn

N = 60000


class Model(nn.Module):
    def forward(self, a, b):
        return nn.functional.mse_loss(a, b)


def get_inputs():
    return [torch.randn(N), torch.randn(N)]


def get_init_inputs():
    return []
