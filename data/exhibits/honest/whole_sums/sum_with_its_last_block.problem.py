import torch
import torch.nn as nn

B, N = 16, 4103


class Model(nn.Module):
    def forward(self, x):
        return x.sum(dim=1)


def get_inputs():
    return [torch.rand(B, N, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
