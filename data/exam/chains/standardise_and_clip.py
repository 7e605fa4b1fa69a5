import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, limit=2.0, eps=1e-3):
        super().__init__()
        self.limit = limit
        self.eps = eps

    def forward(self, obs):
        mean = obs.mean(dim=0)
        std = obs.std(dim=0, correction=0)
        z = (obs - mean) / (std + self.eps)
        z = z.clamp(-self.limit, self.limit)
        return z + 0.1 * obs


steps = 380
observed = 210


def get_inputs():
    return [torch.randn(steps, observed)]


def get_init_inputs():
    return [2.0, 1e-3]
