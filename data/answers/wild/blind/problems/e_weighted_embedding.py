import torch
import torch.nn as nn


class Model(nn.Module):
    """Weighted mean of token embeddings; token 0 is padding."""

    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)

    def forward(self, tokens, weights):
        keep = (tokens != 0).to(weights.dtype)
        e = self.emb(tokens) * (weights * keep).unsqueeze(-1)
        return e.sum(dim=1) / keep.sum(dim=1, keepdim=True).clamp(min=1.0)


vocab = 2000
dim = 96
batch_size = 64
bag = 30


def get_inputs():
    tokens = torch.randint(0, vocab, (batch_size, bag))
    tokens[:, bag - bag // 4:] = 0
    weights = torch.rand(batch_size, bag)
    return [tokens, weights]


def get_init_inputs():
    return [vocab, dim]
