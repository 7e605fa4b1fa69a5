import torch
import torch.nn as nn

B = 5
T = 15
WIDE = 8
H = 12


class Model(nn.Module):
    def __init__(self, i, h):
        super().__init__()
        self.wx = nn.Linear(i, h)
        self.wh = nn.Linear(h, h, bias=False)

    def forward(self, x, h0):
        h = h0
        for t in range(x.shape[1]):
            h = torch.tanh(self.wx(x[:, t]) + self.wh(h))
        return h


def get_inputs():
    return [torch.randn(B, T, WIDE), torch.zeros(B, H)]


def get_init_inputs():
    return [WIDE, H]
