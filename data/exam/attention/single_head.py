import math

import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, q, k, v):
        # (batch, q_len, k_len)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        weights = torch.softmax(scores, dim=-1)
        return torch.matmul(weights, v)

BATCH = 3
Q_LEN = 70
K_LEN = 90
DIM = 32

def get_inputs():
    return [
        torch.randn(BATCH, Q_LEN, DIM),
        torch.randn(BATCH, K_LEN, DIM),
        torch.randn(BATCH, K_LEN, DIM),
    ]

def get_init_inputs():
    return []
