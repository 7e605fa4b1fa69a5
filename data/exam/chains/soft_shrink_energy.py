import torch
import torch.nn as nn


class Model(nn.Module):
    """One iteration of shrinkage, then the energy that is left in each row."""

    def __init__(self, step: float, lam: float):
        super().__init__()
        self.step = step
        self.lam = lam

    def forward(self, code, residual):
        z = code + self.step * residual
        magnitude = torch.relu(z.abs() - self.lam)
        shrunk = torch.sign(z) * magnitude
        return shrunk.square().sum(dim=-1)


signals, atoms = 240, 350


def get_inputs():
    return [torch.randn(signals, atoms), torch.randn(signals, atoms)]


def get_init_inputs():
    return [0.3, 0.4]
