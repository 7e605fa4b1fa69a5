import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Gated SiLU of two streams, each with its own bias."""

    def __init__(self, hidden_dim):
        super().__init__()
        self.bias_a = nn.Parameter(torch.randn(hidden_dim) * 0.1)
        self.bias_b = nn.Parameter(torch.randn(hidden_dim) * 0.1)

    def forward(self, a, b):
        return F.silu(a + self.bias_a) * (b + self.bias_b)


BATCH = 12
SEQ = 50
HIDDEN = 200


def get_inputs():
    return [torch.randn(BATCH, SEQ, HIDDEN), torch.randn(BATCH, SEQ, HIDDEN)]


def get_init_inputs():
    return [HIDDEN]
