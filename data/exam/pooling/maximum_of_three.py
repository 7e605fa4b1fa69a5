import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool1d(kernel_size=3, stride=3)

    def forward(self, envelope):
        return self.pool(envelope)


clips = 31
bands = 30
frames = 241


def get_inputs():
    return [torch.randn(clips, bands, frames)]


def get_init_inputs():
    return []
