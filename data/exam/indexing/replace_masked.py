import torch
import torch.nn as nn


class Model(nn.Module):
    """Replaces masked tokens by a learned one."""

    def __init__(self, width):
        super().__init__()
        self.mask_token = nn.Parameter(torch.randn(width))

    def forward(self, patches, masked):
        return torch.where(masked[..., None], self.mask_token, patches)


width = 160
batch, num_patches = 5, 130


def get_inputs():
    return [torch.randn(batch, num_patches, width), torch.rand(batch, num_patches) < 0.4]


def get_init_inputs():
    return [width]
