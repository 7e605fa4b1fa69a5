import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Features are modulated by a condition, activated, and added to what they were."""

    def __init__(self, cond_dim, channels):
        super().__init__()
        self.to_scale_shift = nn.Linear(cond_dim, 2 * channels)

    def forward(self, feats, cond):
        scale, shift = self.to_scale_shift(cond).chunk(2, dim=1)
        h = feats * (1 + scale[..., None]) + shift[..., None]
        h = F.silu(h)
        return feats + h


COND, CHANNELS = 20, 32
BATCH = 13
LENGTH = 230


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH), torch.randn(BATCH, COND)]


def get_init_inputs():
    return [COND, CHANNELS]
