import torch
import torch.nn as nn

BATCH = 80
IN_FEATURES = 128
OUT_FEATURES = 100


class Model(nn.Module):
    """int8 x int8 linear: dequantised float output and a shifted, saturated int8 output."""

    def __init__(self, in_features, out_features, act_scale):
        super().__init__()
        self.act_scale = act_scale
        self.register_buffer("weight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("weight_scale", torch.rand(out_features) * 0.01 + 0.001)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        acc = torch.matmul(x.float(), self.weight.float().t())
        out = acc * (self.weight_scale * self.act_scale) + self.bias
        q = torch.clamp(acc.to(torch.int32) >> 9, -128, 127).to(torch.int8)
        return out, q


def get_inputs():
    return [torch.randint(-127, 128, (BATCH, IN_FEATURES), dtype=torch.int8)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, 0.02]
