import torch
import torch.nn as nn


class Model(nn.Module):
    """Reward to go: at each step the sum of what is still to come."""

    def forward(self, rewards):
        reversed_rewards = torch.flip(rewards, dims=[-1])
        togo = torch.cumsum(reversed_rewards, dim=-1)
        return torch.flip(togo, dims=[-1])


episodes = 220
horizon = 256


def get_inputs():
    return [torch.randn(episodes, horizon)]


def get_init_inputs():
    return []
