import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, y_ptr, n_rows, S, HALF,
                BLOCK_R: tl.constexpr, BLOCK_H: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.arange(0, BLOCK_H)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < HALF)
    pos = rows % S

    cs = pos[:, None] * HALF + cols[None, :]
    cos = tl.load(cos_ptr + cs, mask=mask, other=0.0)
    sin = tl.load(sin_ptr + cs, mask=mask, other=0.0)

    lo = rows[:, None] * (2 * HALF) + cols[None, :]
    hi = lo + HALF
    x1 = tl.load(x_ptr + lo, mask=mask, other=0.0).to(tl.float32)
    x2 = tl.load(x_ptr + hi, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_ptr + lo, (x1 * cos - x2 * sin).to(tl.bfloat16), mask=mask)
    tl.store(y_ptr + hi, (x2 * cos + x1 * sin).to(tl.bfloat16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, max_seq, half_dim, base=10000.0):
        super().__init__()
        inv_freq = base ** (-torch.arange(half_dim).float() / half_dim)
        angles = torch.arange(max_seq).float()[:, None] * inv_freq[None, :]
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        B, H, S, D = x.shape
        half = D // 2
        x = x.contiguous()
        y = torch.empty_like(x)
        n_rows = B * H * S
        BLOCK_R = 8
        rope_kernel[(triton.cdiv(n_rows, BLOCK_R),)](
            x, self.cos, self.sin, y, n_rows, S, half,
            BLOCK_R=BLOCK_R, BLOCK_H=triton.next_power_of_2(half))
        return y


if __name__ == "__main__":
    m = ModelNew(16, 8).cuda()
    print(m(torch.randn(1, 2, 16, 16, device="cuda", dtype=torch.bfloat16)).shape)
