import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, logits):
        values, _ = torch.topk(logits, self.k, dim=-1)
        return values.mean(dim=-1)


users = 96
items = 700


def get_inputs():
    return [torch.randn(users, items)]


def get_init_inputs():
    return [5]
