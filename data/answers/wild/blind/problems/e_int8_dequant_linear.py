import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Linear layer with weights kept in int8, a scale and a zero point for each output row."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.register_buffer("qweight", torch.randint(-128, 128, (out_features, in_features), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(out_features) * 0.01 + 0.001)
        self.register_buffer("zeros", torch.randint(-8, 8, (out_features,), dtype=torch.int8))
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        w = (self.qweight.float() - self.zeros.float()[:, None]) * self.scales[:, None]
        return F.linear(x, w, self.bias)


batch_size = 50
in_features = 200
out_features = 150


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features]
