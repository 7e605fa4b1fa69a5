import torch
import torch.nn as nn

V = 500
D = 48
B = 64
L = 10


class Model(nn.Module):
    def __init__(self, v, d):
        super().__init__()
        self.emb = nn.Embedding(v, d)

    def forward(self, ids):
        return self.emb(ids).mean(1)


def get_inputs():
    return [torch.randint(0, V, (B, L))]


def get_init_inputs():
    return [V, D]
