import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Token + position embeddings, averaged over the tokens that aren't padding (id 0).
    """

    def __init__(self, vocab_size, dim, max_len):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.5)

    def forward(self, ids):
        L = ids.shape[1]
        e = self.tok(ids) + self.pos[:L]
        m = (ids != 0).unsqueeze(-1).to(e.dtype)
        return (e * m).sum(dim=1) / m.sum(dim=1).clamp(min=1.0)


BATCH = 32
SEQ_LEN = 45
VOCAB = 500
DIM = 200


def get_inputs():
    ids = torch.randint(0, VOCAB, (BATCH, SEQ_LEN))
    ids[:, SEQ_LEN * 3 // 4:] *= torch.randint(0, 2, (BATCH, 1))
    return [ids]


def get_init_inputs():
    return [VOCAB, DIM, SEQ_LEN]
