import torch
import torch.nn as nn

R = 100
N = 80
K = 30


class Model(nn.Module):
    def forward(self, x, idx):
        return torch.gather(x, 1, idx)


def get_inputs():
    return [torch.randn(R, N), torch.randint(0, N, (R, K))]


def get_init_inputs():
    return []
