import torch
import torch.nn as nn


class Model(nn.Module):
    """Batch norm with fixed statistics, as detectors keep their backbones.

    Args:
        n (int): number of channels.
    """

    def __init__(self, n):
        super().__init__()
        self.register_buffer("weight", torch.ones(n))
        self.register_buffer("bias", torch.zeros(n))
        self.register_buffer("running_mean", torch.zeros(n))
        self.register_buffer("running_var", torch.ones(n))

    def forward(self, x):
        scale = self.weight * (self.running_var + 1e-5).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)


N_CHANNELS = 28
B = 6
SIDE = 38


def get_inputs():
    return [torch.randn(B, N_CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [N_CHANNELS]
