import torch
import torch.nn as nn

ROWS = 50
COLS = 88


class Model(nn.Module):
    def __init__(self, epsilon=1e-5):
        super().__init__()
        self.epsilon = epsilon

    def forward(self, x, gain):
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.epsilon) * gain


def get_inputs():
    return [torch.randn(ROWS, COLS), torch.randn(COLS)]
