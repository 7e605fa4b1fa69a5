import torch
import torch.nn as nn

B = 48
N = 160


class Model(nn.Module):
    def forward(self, a, b):
        return a // b


def get_inputs():
    return [torch.randint(0, 1000, (B, N)), torch.randint(1, 100, (B, N))]


def get_init_inputs():
    return []
