import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Pad an image on the right and bottom to whole patches and lay the patches out as rows."""

    def __init__(self, patch):
        super().__init__()
        self.patch = patch

    def forward(self, x):
        p = self.patch
        b, c, h, w = x.shape
        x = F.pad(x, (0, (-w) % p, 0, (-h) % p))
        gh, gw = x.shape[2] // p, x.shape[3] // p
        x = x.view(b, c, gh, p, gw, p).permute(0, 2, 4, 1, 3, 5).contiguous()
        return x.view(b, gh * gw, c * p * p)


BATCH = 6
CHANNELS = 3
HEIGHT = 125
WIDTH = 90
PATCH = 8


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [PATCH]
