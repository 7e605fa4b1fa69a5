import torch
import torch.nn as nn

BATCH = 64
WIDTH = 72
CLASSES = 10
DEPTH = 9


class Model(nn.Module):
    """DEPTH hidden layers with ReLU, and a linear head."""

    def __init__(self, width, classes, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)


def get_inputs():
    return [torch.randn(BATCH, WIDTH)]


def get_init_inputs():
    return [WIDTH, CLASSES, DEPTH]
