import torch
import torch.nn as nn


class Model(nn.Module):
    """Log-probabilities from which the logarithm of a class prior is taken off."""

    def __init__(self, classes):
        super().__init__()
        counts = torch.arange(1, classes + 1).float()
        self.register_buffer("log_prior", torch.log(counts / counts.sum()))

    def forward(self, logits):
        logp = torch.log_softmax(logits, dim=1)
        return logp - self.log_prior


CLASSES = 100
SAMPLES = 1400


def get_inputs():
    return [torch.randn(SAMPLES, CLASSES)]


def get_init_inputs():
    return [CLASSES]
