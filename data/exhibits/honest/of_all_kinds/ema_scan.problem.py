import torch
import torch.nn as nn

B = 8
T = 200
D = 20


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Parameter(torch.rand(d))

    def forward(self, x):
        h = torch.zeros_like(x[:, 0])
        g = torch.sigmoid(self.a)
        ys = []
        for t in range(x.shape[1]):
            h = g * h + (1 - g) * x[:, t]
            ys.append(h)
        return torch.stack(ys, 1), h


def get_inputs():
    return [torch.randn(B, T, D)]


def get_init_inputs():
    return [D]
