import torch
import torch.nn as nn

B = 4
H = 3
S = 40


class Model(nn.Module):
    def forward(self, scores, mask):
        return torch.softmax(scores + mask, dim=-1)


def get_inputs():
    return [
        torch.randn(B, H, S, S),
        torch.zeros(S, S).masked_fill(torch.ones(S, S, dtype=torch.bool).triu(1), float("-inf")),
    ]


def get_init_inputs():
    return []
