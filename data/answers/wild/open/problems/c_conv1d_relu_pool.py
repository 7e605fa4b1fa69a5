import math
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
IN_CH = 16
OUT_CH = 24
LENGTH = 301
KSIZE = 5
POOL = 2


class Model(nn.Module):
    def __init__(self, in_ch, out_ch, ksize, pool):
        super().__init__()
        self.pool = pool
        self.weight = nn.Parameter(torch.empty(out_ch, in_ch, ksize))
        self.bias = nn.Parameter(torch.empty(out_ch))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in, _ = nn.init._calculate_fan_in_and_fan_out(self.weight)
        bound = 1 / math.sqrt(fan_in)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x):
        y = F.conv1d(x, self.weight, self.bias, padding=self.weight.shape[-1] // 2)
        return F.max_pool1d(F.relu(y), self.pool)


def get_inputs():
    return [torch.randn(BATCH, IN_CH, LENGTH)]


def get_init_inputs():
    return [IN_CH, OUT_CH, KSIZE, POOL]
