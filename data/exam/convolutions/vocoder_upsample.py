import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, cin: int, cout: int, rate: int):
        super().__init__()
        self.act = nn.LeakyReLU(0.1)
        self.up = nn.ConvTranspose1d(cin, cout, kernel_size=2 * rate, stride=rate, padding=rate // 2)

    def forward(self, mel: torch.Tensor) -> torch.Tensor:
        return self.up(self.act(mel))


CIN = 16
COUT = 8
RATE = 4
FRAMES = 60


def get_inputs():
    return [torch.randn(3, CIN, FRAMES)]


def get_init_inputs():
    return [CIN, COUT, RATE]
