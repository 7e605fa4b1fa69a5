import torch
import torch.nn as nn

A = 4
B = 5
C = 6
D = 7
E = 30


class Model(nn.Module):
    def forward(self, x):
        return x.permute(0, 2, 4, 1, 3).sum(dim=(1, 4))


def get_inputs():
    return [torch.randn(A, B, C, D, E)]


def get_init_inputs():
    return []
