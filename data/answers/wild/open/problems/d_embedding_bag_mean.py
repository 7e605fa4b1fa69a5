import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean of the embeddings of the tokens of a bag that are not padding."""

    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)

    def forward(self, ids):
        e = self.emb(ids)
        keep = (ids != 0).unsqueeze(-1).to(e.dtype)
        return (e * keep).sum(dim=1) / keep.sum(dim=1).clamp(min=1.0)


VOCAB = 4000
DIM = 96
BATCH = 200
LENGTH = 24


def get_inputs():
    ids = torch.randint(0, VOCAB, (BATCH, LENGTH))
    ids = ids * (torch.rand(BATCH, LENGTH) > 0.2)
    return [ids]


def get_init_inputs():
    return [VOCAB, DIM]
