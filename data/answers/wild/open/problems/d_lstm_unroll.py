import torch
import torch.nn as nn


class Model(nn.Module):
    """LSTM over a short sequence; returns every hidden state and the last (h, c)."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.x2h = nn.Linear(input_size, 4 * hidden_size)
        self.h2h = nn.Linear(hidden_size, 4 * hidden_size, bias=False)

    def forward(self, x, h, c):
        outs = []
        for t in range(x.size(1)):
            gates = self.x2h(x[:, t]) + self.h2h(h)
            i, f, g, o = gates.chunk(4, dim=1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outs.append(h)
        return torch.stack(outs, dim=1), h, c


BATCH = 10
STEPS = 9
INPUT = 40
HIDDEN = 64


def get_inputs():
    return [torch.randn(BATCH, STEPS, INPUT), torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)]


def get_init_inputs():
    return [INPUT, HIDDEN]
