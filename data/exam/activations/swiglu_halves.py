import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 300
HIDDEN = 344


class Model(nn.Module):
    """Gated unit that gets value and gate in one tensor.

    Args:
        x: tokens by twice the hidden size; the first half is the gate.

    Returns:
        tokens by the hidden size.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, value = x.chunk(2, dim=-1)
        return F.silu(gate) * value


def get_inputs():
    return [torch.randn(TOKENS, 2 * HIDDEN)]


def get_init_inputs():
    return []
