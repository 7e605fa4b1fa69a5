import torch
import torch.nn as nn


class Model(nn.Module):
    """Plain tanh recurrence over a sequence."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.w_ih = nn.Parameter(torch.randn(hidden_size, input_size) * input_size ** -0.5)
        self.w_hh = nn.Parameter(torch.randn(hidden_size, hidden_size) * 0.5 * hidden_size ** -0.5)
        self.bias = nn.Parameter(torch.randn(hidden_size) * 0.1)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.w_hh.size(0))
        outs = []
        for t in range(x.size(1)):
            h = torch.tanh(x[:, t] @ self.w_ih.t() + h @ self.w_hh.t() + self.bias)
            outs.append(h)
        return torch.stack(outs, dim=1), h


BATCH = 12
STEPS = 20
INPUT = 30
HIDDEN = 48


def get_inputs():
    return [torch.randn(BATCH, STEPS, INPUT)]


def get_init_inputs():
    return [INPUT, HIDDEN]
