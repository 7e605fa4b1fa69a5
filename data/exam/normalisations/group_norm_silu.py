import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(num_groups=groups, num_channels=channels, eps=1e-6)
        self.act = nn.SiLU()

    def forward(self, latents):
        return self.act(self.norm(latents))


GROUPS = 4
CHANNELS = 24
LATENT = 28


def get_inputs():
    return [torch.randn(6, CHANNELS, LATENT, LATENT)]


def get_init_inputs():
    return [GROUPS, CHANNELS]
