import torch
import torch.nn as nn

B = 48
N = 160


class Model(nn.Module):
    def forward(self, a):
        return a // 16


def get_inputs():
    return [torch.randint(0, 5000, (B, N))]


def get_init_inputs():
    return []
