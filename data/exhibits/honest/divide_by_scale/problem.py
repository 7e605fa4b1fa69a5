import torch
import torch.nn as nn

LENGTH = 3000


class Model(nn.Module):
    def forward(self, x):
        return x * torch.rsqrt((x * x).mean() + 1e-5)


def get_inputs():
    return [torch.randn(LENGTH)]
