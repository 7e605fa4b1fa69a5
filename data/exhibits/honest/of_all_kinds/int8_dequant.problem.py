import torch
import torch.nn as nn

M = 128
N = 200


class Model(nn.Module):
    def forward(self, q, scale):
        return q.float() * scale[:, None]


def get_inputs():
    return [torch.randint(-128, 128, (M, N), dtype=torch.int8), torch.rand(M)]


def get_init_inputs():
    return []
