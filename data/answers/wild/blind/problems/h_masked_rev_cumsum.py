import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Undiscounted returns: reverse cumulative sum of the rewards of live steps.
    """

    def __init__(self):
        super().__init__()

    def forward(self, rewards, alive):
        r = rewards * alive.to(rewards.dtype)
        return torch.flip(torch.cumsum(torch.flip(r, dims=[1]), dim=1), dims=[1])


NUM_ENVS = 100
HORIZON = 1500


def get_inputs():
    return [torch.randn(NUM_ENVS, HORIZON), torch.rand(NUM_ENVS, HORIZON) > 0.1]


def get_init_inputs():
    return []
