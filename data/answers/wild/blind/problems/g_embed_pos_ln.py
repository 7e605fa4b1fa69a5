import torch
import torch.nn as nn


class Model(nn.Module):
    """Token embedding + position embedding + LayerNorm."""

    def __init__(self, vocab, max_len, dim):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, idx):
        t = idx.shape[1]
        p = torch.arange(t, device=idx.device)
        return self.norm(self.tok(idx) + self.pos(p)[None])


vocab = 1000
max_len = 64
dim = 192
batch = 16


def get_inputs():
    return [torch.randint(0, vocab, (batch, max_len))]


def get_init_inputs():
    return [vocab, max_len, dim]
