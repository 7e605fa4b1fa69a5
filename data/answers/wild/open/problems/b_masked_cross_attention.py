import torch
import torch.nn as nn

BATCH = 4
QUERIES = 30
MEMORY = 75
DIM = 48


class Model(nn.Module):
    """Single head cross attention over a padded memory; lengths give the valid part.
    Returns the context and the attention weights."""

    def __init__(self, dim):
        super().__init__()
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.scale = dim ** -0.5

    def forward(self, query, memory, lengths):
        q = self.q_proj(query)
        scores = torch.bmm(q, memory.transpose(1, 2)) * self.scale
        t = memory.size(1)
        pad = torch.arange(t, device=memory.device)[None, :] >= lengths[:, None]
        scores = scores.masked_fill(pad[:, None, :], float("-inf"))
        w = torch.softmax(scores, dim=-1)
        return torch.bmm(w, memory), w


def get_inputs():
    return [
        torch.randn(BATCH, QUERIES, DIM),
        torch.randn(BATCH, MEMORY, DIM),
        torch.randint(1, MEMORY + 1, (BATCH,), dtype=torch.int64),
    ]


def get_init_inputs():
    return [DIM]
