import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Mixed pooling: learned blend (for each channel) of average and max pooling.
    """

    def __init__(self, channels, kernel_size, stride):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = kernel_size // 2
        self.mix = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        avg = F.avg_pool2d(x, self.kernel_size, self.stride, self.padding)
        mx = F.max_pool2d(x, self.kernel_size, self.stride, self.padding)
        a = torch.sigmoid(self.mix).view(1, -1, 1, 1)
        return a * avg + (1 - a) * mx


BATCH = 4
CHANNELS = 15
HEIGHT = 63
WIDTH = 70
KERNEL = 3
STRIDE = 2


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS, KERNEL, STRIDE]
