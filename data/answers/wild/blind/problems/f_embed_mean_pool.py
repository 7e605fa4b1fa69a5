import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Embeds token ids and averages over the tokens that are not padding."""

    def __init__(self, vocab_size, dim, pad_idx):
        super().__init__()
        self.pad_idx = pad_idx
        self.embedding = nn.Embedding(vocab_size, dim)

    def forward(self, ids):
        emb = self.embedding(ids)
        keep = (ids != self.pad_idx).unsqueeze(-1).to(emb.dtype)
        return (emb * keep).sum(dim=1) / keep.sum(dim=1).clamp(min=1.0)


BATCH = 30
LENGTH = 24
VOCAB = 500
DIM = 72


def get_inputs():
    ids = torch.randint(0, VOCAB, (BATCH, LENGTH))
    drop = torch.rand(BATCH, LENGTH) < 0.25
    return [ids.masked_fill(drop, 0)]


def get_init_inputs():
    return [VOCAB, DIM, 0]
