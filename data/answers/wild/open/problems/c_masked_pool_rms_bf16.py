import torch
import torch.nn as nn

BATCH = 12
TOKENS = 77
WIDTH = 192


class Model(nn.Module):
    """Mean over the valid tokens, RMS norm of the pooled vector; bfloat16 in and out."""

    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x, mask):
        m = mask.to(torch.float32).unsqueeze(-1)
        total = (x.float() * m).sum(dim=1)
        mean = total / m.sum(dim=1).clamp(min=1.0)
        inv = torch.rsqrt(mean.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return (mean * inv * self.weight).to(torch.bfloat16)


def get_inputs():
    return [torch.randn(BATCH, TOKENS, WIDTH).to(torch.bfloat16), torch.rand(BATCH, TOKENS) > 0.3]


def get_init_inputs():
    return [WIDTH]
