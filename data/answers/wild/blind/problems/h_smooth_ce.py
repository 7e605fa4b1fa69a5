import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Cross entropy with label smoothing; positions with the ignore index don't count."""

    def __init__(self, smoothing: float, ignore_index: int):
        super().__init__()
        self.smoothing = smoothing
        self.ignore_index = ignore_index

    def forward(self, logits, target):
        return F.cross_entropy(logits, target, ignore_index=self.ignore_index,
                               label_smoothing=self.smoothing)


TOKENS = 300
CLASSES = 1111


def get_inputs():
    target = torch.randint(0, CLASSES, (TOKENS,))
    target[1::7] = -100
    return [torch.randn(TOKENS, CLASSES) * 2, target]


def get_init_inputs():
    return [0.1, -100]
