import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        hidden = torch.minimum(x, other)
        hidden = torch.log(1 + torch.exp(hidden))
        hidden = hidden + x
        hidden = F.relu6(hidden)
        return (hidden - hidden.mean(dim=2, keepdim=True)) / torch.sqrt(
            hidden.var(dim=2, keepdim=True, unbiased=False) + 1e-06
        )


batch_size = 3
seq_len = 48
hidden_dim = 128


def get_inputs():
    x = torch.randn(batch_size, seq_len, hidden_dim)
    other = torch.randn(batch_size, seq_len, hidden_dim)
    return [x, other]


def get_init_inputs():
    return []
