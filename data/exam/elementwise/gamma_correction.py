import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self,gamma: float,gain: float):
        super().__init__()
        self.gamma=gamma
        self.gain=gain

    def forward(self,pixels: torch.Tensor) -> torch.Tensor:
        return self.gain * pixels.clamp_min(1e-3).pow(self.gamma)


frames,rgb,side=2,3,80


def get_inputs():
    return [torch.rand(frames,rgb,side,side)]


def get_init_inputs():
    return [0.45,1.1]
