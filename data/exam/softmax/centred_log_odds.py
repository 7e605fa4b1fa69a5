import torch
import torch.nn as nn


class Model(nn.Module):
    """Log-softmax over the middle axis, times a weight of each head."""

    def forward(self, x, head_weight):
        out = nn.functional.log_softmax(x, dim=2)
        return out * head_weight.view(1, -1, 1, 1)


batch_size = 5
num_heads = 6
slots = 40
width = 100


def get_inputs():
    return [torch.randn(batch_size, num_heads, slots, width), torch.rand(num_heads)]


def get_init_inputs():
    return []
