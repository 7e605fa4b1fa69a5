import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Cross entropy with label smoothing; targets of -100 are ignored."""

    def __init__(self, smoothing):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits, target):
        return F.cross_entropy(logits, target, ignore_index=-100, label_smoothing=self.smoothing)


num_tokens = 200
num_classes = 300


def get_inputs():
    logits = torch.randn(num_tokens, num_classes) * 2
    target = torch.randint(0, num_classes, (num_tokens,))
    target[1::7] = -100
    return [logits, target]


def get_init_inputs():
    return [0.1]
