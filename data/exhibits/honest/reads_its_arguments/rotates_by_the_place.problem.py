import torch
import torch.nn as nn

B = 4
T = 24
D = 16


class Model(nn.Module):
    def forward(self, x, pos):
        angle = pos.unsqueeze(-1) * 0.125
        return x * torch.cos(angle) + torch.roll(x, D // 2, -1) * torch.sin(angle)


def get_inputs():
    return [torch.randn(B, T, D), torch.arange(T).expand(B, T)]


def get_init_inputs():
    return []
