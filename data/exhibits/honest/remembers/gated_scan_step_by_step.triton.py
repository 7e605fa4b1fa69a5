# verdict: correct ok
# A program a channel, from the first step.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(x_ptr, gate_ptr, out_ptr, T, D, WARM):
    b, d = tl.program_id(0), tl.program_id(1)
    steps = T
    for start in range(0, T, steps):
        s = 0.0
        for t in range(tl.maximum(start - WARM, 0), tl.minimum(start + steps, T)):
            at = (b * T + t) * D + d
            keep = tl.sigmoid(tl.load(gate_ptr + at))
            s = keep * s + (1 - keep) * tl.load(x_ptr + at)
            tl.store(out_ptr + at, s, mask=t >= start)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        b, t, d = x.shape
        out = torch.empty_like(x)
        scan[(b, d)](x, gate, out, t, d, 0)
        return out
