import torch
import torch.nn as nn

B = 8
T = 40


class Model(nn.Module):
    def forward(self, x, lengths):
        seen = torch.arange(x.shape[1]) < lengths.unsqueeze(1)
        return (x * seen).sum(1) / lengths.clamp(min=1)


def get_inputs():
    return [torch.randn(B, T), torch.full((B,), T)]


def get_init_inputs():
    return []
