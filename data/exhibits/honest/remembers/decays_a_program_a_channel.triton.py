# verdict: correct ok
# A program a channel.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(x_ptr, decay_ptr, out_ptr, T, D):
    b, d = tl.program_id(0), tl.program_id(1)
    keep = tl.load(decay_ptr + d)
    window = T
    for start in range(0, T, window):
        h = 0.0
        for t in range(start, tl.minimum(start + window, T)):
            at = (b * T + t) * D + d
            h = tl.load(x_ptr + at) + keep * h
            tl.store(out_ptr + at, h)


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(d) * 0.5 + 0.3)

    def forward(self, x):
        b, t, d = x.shape
        out = torch.empty_like(x)
        scan[(b, d)](x, self.decay, out, t, d)
        return out
