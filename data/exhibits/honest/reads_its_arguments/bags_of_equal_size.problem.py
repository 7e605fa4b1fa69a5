import torch
import torch.nn as nn

V = 50
D = 32
BAGS = 12
SIZE = 8


class Model(nn.Module):
    def forward(self, ids, offsets, weight):
        return nn.functional.embedding_bag(ids, weight, offsets, mode="sum")


def get_inputs():
    return [
        torch.randint(0, V, (BAGS * SIZE,)),
        torch.arange(0, BAGS * SIZE, SIZE),
        torch.randn(V, D),
    ]


def get_init_inputs():
    return []
