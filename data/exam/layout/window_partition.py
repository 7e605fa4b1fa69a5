import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Cuts a map into square windows and takes the mean of each window off.

    Parameters
    ----------
    window : int
        Side of a window; height and width are multiples of it.
    """

    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, x):
        b, h, w, c = x.shape
        s = self.window
        x = x.view(b, h // s, s, w // s, s, c)
        windows = x.permute(0, 1, 3, 2, 4, 5).reshape(-1, s * s, c)
        return windows - windows.mean(dim=1, keepdim=True)


WINDOW = 5
DOWN = 11
ACROSS = 12
DEPTH = 40


def get_inputs():
    return [torch.randn(2, DOWN * WINDOW, ACROSS * WINDOW, DEPTH)]


def get_init_inputs():
    return [WINDOW]
