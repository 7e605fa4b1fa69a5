import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def fused(x_ptr, w_ptr, b_ptr, out_ptr, n, k, m, scale, K: tl.constexpr, M: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, M)
    inner = tl.arange(0, K)
    x = tl.load(x_ptr + row * k + inner, mask=inner < k, other=0.0)
    w = tl.load(
        w_ptr + cols[:, None] * k + inner[None, :],
        mask=(cols[:, None] < m) & (inner[None, :] < k),
        other=0.0,
    )
    s = tl.sum(w * x[None, :], axis=1) + tl.load(b_ptr + cols, mask=cols < m, other=0.0)
    tl.store(out_ptr + row * m + cols, tl.maximum(s, 0.0) * scale, mask=cols < m)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 32)

    def forward(self, x, scale):
        w = self.linear.weight
        out = torch.empty((x.shape[0], w.shape[0]), device=x.device, dtype=x.dtype)
        K, M = triton.next_power_of_2(x.shape[1]), triton.next_power_of_2(w.shape[0])
        fused[(x.shape[0],)](
            x, w, self.linear.bias, out, x.shape[0], x.shape[1], w.shape[0], scale, K=K, M=M
        )
        return out
