import torch
import torch.nn as nn


class Model(nn.Module):
    """RMS norm whose weight is stored as the difference from one."""

    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(hidden_size))
        self.variance_epsilon = eps

    def _norm(self, hidden_states):
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        return hidden_states * torch.rsqrt(variance + self.variance_epsilon)

    def forward(self, hidden_states):
        return self._norm(hidden_states) * (1.0 + self.weight)


hidden_size = 288
tokens = 520


def get_inputs():
    return [torch.randn(tokens, hidden_size)]


def get_init_inputs():
    return [hidden_size]
