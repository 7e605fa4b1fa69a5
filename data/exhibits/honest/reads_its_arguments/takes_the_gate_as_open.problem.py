import torch
import torch.nn as nn

R = 12
N = 40


class Model(nn.Module):
    def forward(self, x, gate):
        return torch.where(gate, torch.tanh(x), x)


def get_inputs():
    return [torch.randn(R, N), torch.tensor(True)]


def get_init_inputs():
    return []
