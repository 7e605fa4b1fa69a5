import torch
import torch.nn as nn

B = 3
H = 50
W = 44


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        k = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
        self.register_buffer("k", (k[:, None] * k[None, :])[None, None])

    def forward(self, x):
        return nn.functional.conv2d(
            nn.functional.pad(x[:, None], (2, 2, 2, 2), mode="reflect"), self.k
        )[:, 0]


def get_inputs():
    return [torch.randn(B, H, W)]


def get_init_inputs():
    return []
