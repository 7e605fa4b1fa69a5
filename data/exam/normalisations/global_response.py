import torch
import torch.nn as nn


class Model(nn.Module):
    """Global response normalisation, channels last, with a residual.

    x: (N, H, W, C)
    """

    def __init__(self, dim):
        super(Model, self).__init__()
        self.gamma = nn.Parameter(torch.zeros(dim) + 0.5)
        self.beta = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        gx = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        nx = gx / (gx.mean(dim=-1, keepdim=True) + 1e-4)
        return self.gamma * (x * nx) + self.beta + x


DIM = 40
N = 3
HEIGHT, WIDTH = 24, 27


def get_inputs():
    return [torch.randn(N, HEIGHT, WIDTH, DIM)]


def get_init_inputs():
    return [DIM]
