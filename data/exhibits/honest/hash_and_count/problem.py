import torch
import torch.nn as nn

ROWS = 70
COLS = 45


class Model(nn.Module):
    def forward(self, keys, salt):
        mixed = (keys * 31 - salt) % 97
        return mixed, (mixed < 13).sum(dim=1)


def get_inputs():
    keys = torch.randint(-1000, 1000, (ROWS, COLS), dtype=torch.int32)
    return [keys, torch.randint(0, 5000, (COLS,), dtype=torch.int32)]
