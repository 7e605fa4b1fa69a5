import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(ch, 1) + 0.5)

    def forward(self, x):
        loudness = self.gain * x.abs()
        return torch.argmax(loudness, dim=1)

b, ch, t = 8, 24, 500

def get_inputs():
    return [torch.randn(b, ch, t)]

def get_init_inputs():
    return [ch]
