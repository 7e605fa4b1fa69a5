import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.table = nn.Embedding(vocab_size, dim)

    def forward(self, token_ids):
        return self.table(token_ids).mean(dim=1)


VOCAB_SIZE = 500
DIM = 64
DOCS = 170
WORDS = 40


def get_inputs():
    return [torch.randint(0, VOCAB_SIZE, (DOCS, WORDS))]


def get_init_inputs():
    return [VOCAB_SIZE, DIM]
