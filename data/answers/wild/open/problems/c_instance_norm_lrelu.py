import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 40
HEIGHT = 32
WIDTH = 27


class Model(nn.Module):
    """Instance norm + leaky ReLU; also returns the spatial mean of the result."""

    def __init__(self, channels, slope):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.uniform_(self.norm.bias, -0.2, 0.2)
        self.slope = slope

    def forward(self, x):
        y = F.leaky_relu(self.norm(x), self.slope)
        return y, y.mean(dim=(2, 3))


def get_inputs():
    return [torch.rand(BATCH, CHANNELS, HEIGHT, WIDTH) * 3.0]


def get_init_inputs():
    return [CHANNELS, 0.1]
