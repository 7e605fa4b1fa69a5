import torch
import torch.nn as nn

ROWS = 40
COLS = 150


class Model(nn.Module):
    def forward(self, x):
        places = torch.arange(x.shape[1], device=x.device, dtype=x.dtype)
        return torch.where(x > 0, places, torch.zeros_like(places)).amax(dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLS)]
