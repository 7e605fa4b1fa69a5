import torch
import torch.nn as nn


class Model(nn.Module):
    """Mean over the tokens that the mask keeps."""

    def forward(self, hidden_states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        m = mask.unsqueeze(-1).to(hidden_states.dtype)
        total = (hidden_states * m).sum(dim=1)
        count = m.sum(dim=1).clamp(min=1.0)
        return total / count


batch, tokens, dim = 16, 120, 192


def get_inputs():
    return [torch.randn(batch, tokens, dim), torch.rand(batch, tokens) > 0.3]


def get_init_inputs():
    return []
