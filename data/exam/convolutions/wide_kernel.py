import torch
import torch.nn as nn


class Model(nn.Module):
    # a band filter along the width only
    def __init__(self, ch):
        super().__init__()
        self.conv = nn.Conv2d(ch, ch * 2, (1, 5), padding=(0, 2), bias=True)

    def forward(self, spectrogram):
        y = self.conv(spectrogram)
        a, b = y.split(y.shape[1] // 2, dim=1)
        return a * torch.sigmoid(b)


ch = 8
batch = 2
freq = 32
time = 70


def get_inputs():
    return [torch.randn(batch, ch, freq, time)]


def get_init_inputs():
    return [ch]
