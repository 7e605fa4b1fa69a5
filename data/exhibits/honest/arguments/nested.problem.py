import torch
import torch.nn as nn

TOKENS = 24
WIDTH = 40


class Model(nn.Module):
    def forward(self, x, weights, rows=(0, 1), how="sum", more=None):
        found = x * weights[0] + weights[1]
        return {"mixed": found, "state": None, "scaled": found * more["scale"]}


def get_inputs():
    weights = [torch.randn(WIDTH), torch.randn(WIDTH)]
    return [torch.randn(TOKENS, WIDTH), weights, (0, 1), "sum", {"scale": torch.randn(TOKENS, 1)}]


def get_init_inputs():
    return []
