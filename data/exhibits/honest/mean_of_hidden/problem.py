import torch
import torch.nn as nn

ROWS = 4


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(512, 1024)

    def forward(self, x):
        return torch.relu(self.hidden(x)).mean(dim=1)


def get_inputs():
    return [torch.rand(ROWS, 512)]
