import torch
import torch.nn as nn

config = dict(size=72, gate_bias=-1.0)


class Model(nn.Module):
    '''Highway layer: a gate mixes the transformed input with itself.'''

    def __init__(self, size, gate_bias):
        super().__init__()
        self.transform = nn.Linear(size, size)
        self.gate = nn.Linear(size, size)
        nn.init.constant_(self.gate.bias, gate_bias)

    def forward(self, x):
        t = torch.sigmoid(self.gate(x))
        h = torch.tanh(self.transform(x))
        return h * t + x * (1 - t)


rows = 130


def get_inputs():
    return [torch.randn(rows, config['size'])]


def get_init_inputs():
    return [config['size'], config['gate_bias']]
