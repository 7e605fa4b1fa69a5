import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, num_channels: int) -> None:
        super().__init__()
        self.prelu = nn.PReLU(num_parameters=num_channels, init=0.2)

    def forward(self, img: torch.Tensor) -> torch.Tensor:
        return self.prelu(img)


batch_size = 12
num_channels = 24
height = 31
width = 61


def get_inputs():
    return [torch.randn(batch_size, num_channels, height, width)]


def get_init_inputs():
    return [num_channels]
