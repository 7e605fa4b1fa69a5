import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
CHANNELS = 12
HEIGHT = 14
WIDTH = 15
DEPTH = 5


def bn_eval(x, bn):
    return F.batch_norm(x, bn.running_mean, bn.running_var, bn.weight, bn.bias, False, 0.0, bn.eps)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        for bn in (self.bn1, self.bn2):
            bn.running_mean.uniform_(-0.2, 0.2)
            bn.running_var.uniform_(0.5, 1.5)

    def forward(self, x):
        y = F.relu(bn_eval(self.conv1(x), self.bn1))
        y = bn_eval(self.conv2(y), self.bn2)
        return F.relu(x + y)


class Model(nn.Module):
    """A stack of basic residual blocks, inference batch norm."""

    def __init__(self, channels, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(channels) for _ in range(depth)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, DEPTH]
