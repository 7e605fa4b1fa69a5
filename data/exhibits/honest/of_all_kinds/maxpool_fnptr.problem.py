import torch
import torch.nn as nn

B = 4
C = 6
H = 33
W = 40


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.max_pool2d(x, 3, stride=2, padding=1), nn.functional.avg_pool2d(
            x, 3, stride=2, padding=1
        )


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return []
