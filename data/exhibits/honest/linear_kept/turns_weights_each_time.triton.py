# verdict: correct ok
# Room that is kept, and filled in each call.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def run(x, packed, out, K: tl.constexpr, M: tl.constexpr, KB: tl.constexpr, MB: tl.constexpr):
    row = tl.program_id(0)
    k, m = tl.arange(0, KB), tl.arange(0, MB)
    inside = (k[:, None] < K) & (m[None, :] < M)
    weights = tl.load(packed + k[:, None] * M + m[None, :], mask=inside, other=0.0)
    a = tl.load(x + row * K + k, mask=k < K, other=0.0)
    tl.store(out + row * M + m, tl.maximum(tl.sum(a[:, None] * weights, 0), 0.0), mask=m < M)


class ModelNew(nn.Module):
    def __init__(self, k, m):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(m, k))
        self.packed = None

    def forward(self, x):
        n, k = x.shape
        m = self.weight.shape[0]
        if self.packed is None:
            self.packed = torch.empty(k, m, device=x.device)
        self.packed.copy_(self.weight.t())
        packed = self.packed
        out = torch.empty(n, m, device=x.device)
        run[(n,)](x, packed, out, k, m, triton.next_power_of_2(k), triton.next_power_of_2(m))
        return out
