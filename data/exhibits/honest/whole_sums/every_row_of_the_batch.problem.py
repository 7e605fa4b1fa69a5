import torch
import torch.nn as nn

B, C, DEPTH = 16, 16, 3


class Model(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        layers = []
        for _ in range(depth):
            layers += [nn.Linear(channels, channels, bias=False)]
            layers += [nn.BatchNorm1d(channels), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(B, C)]


def get_init_inputs():
    return [C, DEPTH]
