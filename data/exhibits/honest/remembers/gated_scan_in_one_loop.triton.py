# verdict: correct ok
# One program goes over all steps of a sequence.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan(x_ptr, gate_ptr, out_ptr, T, D, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    s = tl.zeros((BLOCK,), tl.float32)
    for t in range(T):
        at = (b * T + t) * D + d
        keep = tl.sigmoid(tl.load(gate_ptr + at, mask=d < D, other=0.0))
        s = keep * s + (1 - keep) * tl.load(x_ptr + at, mask=d < D, other=0.0)
        tl.store(out_ptr + at, s, mask=d < D)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        b, t, d = x.shape
        out = torch.empty_like(x)
        scan[(b,)](x, gate, out, t, d, BLOCK=triton.next_power_of_2(d))
        return out
