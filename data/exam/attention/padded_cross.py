import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, d_model, d_memory):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_memory, d_model, bias=False)
        self.scale = d_model**-0.5

    def forward(self, x, memory, is_padding):
        q = self.q_proj(x) * self.scale
        k = self.k_proj(memory)
        logits = q @ k.transpose(1, 2)
        logits = logits.masked_fill(is_padding.unsqueeze(1), -1e9)
        return torch.softmax(logits, dim=2) @ memory


D_MODEL = 28
D_MEMORY = 40
BATCH = 6
TGT = 30
SRC = 50


def get_inputs():
    is_padding = torch.rand(BATCH, SRC) < 0.2
    return [torch.randn(BATCH, TGT, D_MODEL), torch.randn(BATCH, SRC, D_MEMORY), is_padding]


def get_init_inputs():
    return [D_MODEL, D_MEMORY]
