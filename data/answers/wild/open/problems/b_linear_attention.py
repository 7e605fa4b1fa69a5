import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
HEADS = 3
SEQ = 90
HEAD_DIM = 28


class Model(nn.Module):
    """Non causal linear attention with the elu(x) + 1 feature map."""

    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, q, k, v):
        q = F.elu(q) + 1
        k = F.elu(k) + 1
        kv = torch.einsum("bhsd,bhse->bhde", k, v)
        z = torch.einsum("bhsd,bhd->bhs", q, k.sum(dim=2))
        out = torch.einsum("bhsd,bhde->bhse", q, kv)
        return out / (z.unsqueeze(-1) + self.eps)


def get_inputs():
    shape = (BATCH, HEADS, SEQ, HEAD_DIM)
    return [torch.randn(shape), torch.randn(shape), torch.randn(shape)]


def get_init_inputs():
    return []
