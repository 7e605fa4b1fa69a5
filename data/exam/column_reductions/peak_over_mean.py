import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, spectra):
        return spectra.amax(dim=0) - spectra.mean(dim=0)

FRAMES = 900
BINS = 513

def get_inputs():
    return [torch.randn(FRAMES, BINS)]

def get_init_inputs():
    return []
