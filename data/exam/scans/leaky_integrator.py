import torch
import torch.nn as nn


class Model(nn.Module):
    """First-order low-pass filter, step by step.

    Args:
        steps: length of the sequence.
    """

    def __init__(self, steps: int):
        super().__init__()
        self.steps = steps
        self.leak = nn.Parameter(torch.tensor(0.3))

    def forward(self, current):
        potential = torch.zeros_like(current[:, 0])
        trace = []
        for t in range(self.steps):
            potential = potential + self.leak * (current[:, t] - potential)
            trace.append(potential)
        return torch.stack(trace, dim=1)


STEPS = 24
NEURONS = 180
TRIALS = 16


def get_inputs():
    return [torch.randn(TRIALS, STEPS, NEURONS)]


def get_init_inputs():
    return [STEPS]
