import torch
import torch.nn as nn


class Model(nn.Module):
    """Background of a clip: the median over its frames.

    Parameters
    ----------
    clip : torch.Tensor
        (frames, rows, columns)

    Returns
    -------
    torch.Tensor
        (rows, columns)
    """

    def forward(self, clip):
        return clip.median(dim=0).values


FRAMES = 11
ROWS = 60
COLUMNS = 64


def get_inputs():
    return [torch.randn(FRAMES, ROWS, COLUMNS)]


def get_init_inputs():
    return []
