import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Softmax over keys with a learned temperature for each head and a padding mask on the keys.
    """

    def __init__(self, num_heads):
        super(Model, self).__init__()
        self.log_temp = nn.Parameter(0.2 * torch.randn(num_heads))

    def forward(self, scores, key_mask):
        # scores: (B, H, Q, K), key_mask: (B, K) bool, True = keep
        s = scores * torch.exp(self.log_temp).view(1, -1, 1, 1)
        s = s.masked_fill(~key_mask[:, None, None, :], -1e9)
        return torch.softmax(s, dim=-1)


BATCH = 3
HEADS = 6
QUERIES = 90
KEYS = 117


def get_inputs():
    mask = torch.rand(BATCH, KEYS) > 0.25
    mask[:, 0] = True
    return [torch.randn(BATCH, HEADS, QUERIES, KEYS), mask]


def get_init_inputs():
    return [HEADS]
