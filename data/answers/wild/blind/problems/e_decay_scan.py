import torch
import torch.nn as nn


class Model(nn.Module):
    """Exponential moving average along time with a learned decay for each feature.
    Returns every state and the last one."""

    def __init__(self, dim):
        super().__init__()
        self.logit_decay = nn.Parameter(torch.randn(dim))

    def forward(self, x, h0):
        a = torch.sigmoid(self.logit_decay)
        h = h0
        outs = []
        for t in range(x.shape[1]):
            h = a * h + (1 - a) * x[:, t]
            outs.append(h)
        return torch.stack(outs, dim=1), h


batch_size = 8
seq_len = 130
dim = 100


def get_inputs():
    return [torch.randn(batch_size, seq_len, dim), torch.randn(batch_size, dim)]


def get_init_inputs():
    return [dim]
