import torch
import torch.nn as nn

B, T, D = 4, 256, 16


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.randn(d, d) * 0.1)
        self.u = nn.Parameter(torch.randn(d, d) * 0.1)

    def forward(self, x, h):
        for t in range(x.shape[1]):
            z = torch.sigmoid(x[:, t] @ self.w + h @ self.u)
            h = (1 - z) * h + z * torch.tanh(x[:, t])
        return h


def get_inputs():
    return [torch.randn(B, T, D), torch.randn(B, D)]


def get_init_inputs():
    return [D]
