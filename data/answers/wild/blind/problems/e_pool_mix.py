import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Blend of max and average pooling over the same windows."""

    def __init__(self, kernel_size, stride, alpha):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = kernel_size // 2
        self.alpha = alpha

    def forward(self, x):
        mx = F.max_pool2d(x, self.kernel_size, self.stride, self.padding)
        av = F.avg_pool2d(x, self.kernel_size, self.stride, self.padding)
        return self.alpha * mx + (1.0 - self.alpha) * av


batch_size = 4
channels = 24
height = 45
width = 38
kernel_size = 3
stride = 2


def get_inputs():
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs():
    return [kernel_size, stride, 0.6]
