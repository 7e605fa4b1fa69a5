import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Weight-only int8 linear layer with per-row scales and half activations."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-127, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(out_features) * 0.004 + 0.001)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        w = self.qweight.float() * self.scales[:, None]
        return F.linear(x.float(), w, self.bias).to(x.dtype)


ROWS = 48
IN_FEATURES = 130
OUT_FEATURES = 100


def get_inputs():
    return [torch.randn(ROWS, IN_FEATURES).half()]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES]
