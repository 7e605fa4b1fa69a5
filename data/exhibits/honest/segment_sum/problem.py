import torch
import torch.nn as nn

ROWS = 300
COLS = 32
SEGMENTS = 8


class Model(nn.Module):
    def forward(self, x, segment):
        return torch.zeros(SEGMENTS, COLS, device=x.device).index_add(0, segment, x)


def get_inputs():
    return [torch.randn(ROWS, COLS), torch.randint(0, SEGMENTS, (ROWS,))]
