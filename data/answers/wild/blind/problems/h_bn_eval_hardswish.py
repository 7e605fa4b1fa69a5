import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Inference-time batch norm with stored statistics, skip connection, hardswish."""

    def __init__(self, channels: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.register_buffer("running_mean", torch.randn(channels) * 0.2)
        self.register_buffer("running_var", torch.rand(channels) + 0.3)

    def forward(self, x: torch.Tensor, skip: torch.Tensor) -> torch.Tensor:
        y = F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias,
                         training=False, eps=self.eps)
        return F.hardswish(y + skip)


N = 4
C = 36
H = 40
W = 52


def get_inputs():
    return [torch.randn(N, C, H, W), torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C, 1e-3]
