import torch
import torch.nn as nn

BATCH = 4
SEQ = 20
IN_FEATURES = 128
OUT_FEATURES = 140
RANK = 8


class Model(nn.Module):
    """bfloat16 linear layer with a low rank adapter."""

    def __init__(self, in_features, out_features, rank, alpha):
        super().__init__()
        self.base = nn.Linear(in_features, out_features, dtype=torch.bfloat16)
        self.lora_a = nn.Parameter((torch.randn(rank, in_features) * 0.05).to(torch.bfloat16))
        self.lora_b = nn.Parameter((torch.randn(out_features, rank) * 0.05).to(torch.bfloat16))
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + (x @ self.lora_a.t() @ self.lora_b.t()) * self.scaling


def get_inputs():
    return [torch.randn(BATCH, SEQ, IN_FEATURES).to(torch.bfloat16)]


def get_init_inputs():
    return [IN_FEATURES, OUT_FEATURES, RANK, 16.0]
