import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
IN_CH = 12
OUT_CH = 20
HEIGHT = 30
WIDTH = 27
KSIZE = 3
POOL = 2


class Model(nn.Module):
    def __init__(self, in_ch, out_ch, ksize, pool):
        super().__init__()
        self.conv = nn.Conv2d(in_ch, out_ch, ksize)
        self.pool = pool

    def forward(self, x):
        return F.avg_pool2d(F.hardswish(self.conv(x)), self.pool)


def get_inputs():
    return [torch.randn(BATCH, IN_CH, HEIGHT, WIDTH) * 2]


def get_init_inputs():
    return [IN_CH, OUT_CH, KSIZE, POOL]
