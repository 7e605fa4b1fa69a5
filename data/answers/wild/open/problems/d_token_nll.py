import torch
import torch.nn as nn


class Model(nn.Module):
    """Negative log likelihood of each token, zero where ignored, and the mean of the rest."""

    def __init__(self, ignore_index):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, logits, targets):
        valid = targets != self.ignore_index
        safe = torch.where(valid, targets, torch.zeros_like(targets))
        picked = logits.gather(1, safe.unsqueeze(1)).squeeze(1)
        nll = torch.logsumexp(logits, dim=1) - picked
        nll = torch.where(valid, nll, torch.zeros_like(nll))
        return nll, nll.sum() / valid.sum().clamp(min=1)


TOKENS = 400
VOCAB = 1000


def get_inputs():
    logits = torch.randn(TOKENS, VOCAB) * 2.0
    targets = torch.randint(0, VOCAB, (TOKENS,))
    targets[::7] = -100
    return [logits, targets]


def get_init_inputs():
    return [-100]
