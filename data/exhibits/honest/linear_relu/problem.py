import torch
import torch.nn as nn

BATCH = 42
FEATURES = 66
OUTPUTS = 38


class Model(nn.Module):
    def __init__(self, features, outputs):
        super().__init__()
        self.fc = nn.Linear(features, outputs)

    def forward(self, x):
        return torch.relu(self.fc(x))


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [FEATURES, OUTPUTS]
