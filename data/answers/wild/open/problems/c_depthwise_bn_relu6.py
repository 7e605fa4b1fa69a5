import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 32
HEIGHT = 33
WIDTH = 31
KSIZE = 3
STRIDE = 2


class Model(nn.Module):
    """MobileNet style depthwise stage in inference."""

    def __init__(self, channels, ksize, stride):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, ksize, stride=stride, padding=ksize // 2, groups=channels, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.bn.weight, 2.0, 6.0)
        nn.init.uniform_(self.bn.bias, 0.0, 2.0)
        self.bn.running_mean.uniform_(-0.3, 0.3)
        self.bn.running_var.uniform_(0.5, 1.5)

    def forward(self, x):
        bn = self.bn
        y = self.conv(x)
        y = F.batch_norm(y, bn.running_mean, bn.running_var, bn.weight, bn.bias, False, 0.0, bn.eps)
        return F.relu6(y)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, KSIZE, STRIDE]
