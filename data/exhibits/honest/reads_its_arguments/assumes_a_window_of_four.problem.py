import torch
import torch.nn as nn

H = 2
T = 24


class Model(nn.Module):
    def forward(self, scores, window):
        return torch.softmax(scores + window, dim=-1)


def get_inputs():
    near = (torch.arange(T).unsqueeze(1) - torch.arange(T)).abs() < 4
    window = torch.zeros(T, T).masked_fill(~near, float("-inf"))
    return [torch.randn(H, T, T), window]


def get_init_inputs():
    return []
