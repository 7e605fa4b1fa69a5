import torch
import torch.nn as nn

B, T, D = 4, 256, 16


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.u = nn.Parameter(torch.randn(d, d) * 0.1)

    def forward(self, x):
        h = torch.zeros_like(x[:, 0])
        for t in range(x.shape[1]):
            h = torch.tanh(x[:, t] + h @ self.u)
        return h


def get_inputs():
    return [torch.randn(B, T, D)]


def get_init_inputs():
    return [D]
