import torch
import torch.nn as nn


class Model(nn.Module):
    """Attention whose scores fall linearly with distance, at another slope in each head.

    Args:
        heads (int): number of heads.

    Shape:
        - q, k, v: (batch, heads, length, dim)
    """

    def __init__(self, heads):
        super().__init__()
        slopes = 2.0 ** -torch.arange(1, heads + 1).float()
        self.register_buffer("slopes", slopes.view(heads, 1, 1))

    def forward(self, q, k, v):
        pos = torch.arange(q.shape[2], device=q.device)
        distance = (pos[:, None] - pos[None, :]).abs().to(q.dtype)
        scores = torch.einsum("bhid,bhjd->bhij", q, k)
        scores = scores - self.slopes * distance
        return torch.einsum("bhij,bhjd->bhid", scores.softmax(-1), v)


heads = 4
length = 36


def get_inputs():
    q = torch.randn(2, heads, length, 20) * 0.5
    k = torch.randn(2, heads, length, 20) * 0.5
    v = torch.randn(2, heads, length, 20)
    return [q, k, v]


def get_init_inputs():
    return [heads]
