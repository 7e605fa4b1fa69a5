import torch
import torch.nn as nn

H = 3
T = 20


class Model(nn.Module):
    def forward(self, scores, mask):
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)


def get_inputs():
    return [torch.randn(H, T, T), torch.ones(T, T, dtype=torch.bool).tril()]


def get_init_inputs():
    return []
