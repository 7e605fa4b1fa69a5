import torch
import torch.nn as nn

THRESHOLD = 0.4
ROWS, COLS = 256, 500


class Model(nn.Module):
    """Which share of each row lies above a threshold."""

    def forward(self, scores):
        above = (scores > THRESHOLD).float()
        return above.mean(dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLS)]
